# The answer and its order do not depend on the number of threads; messages come in order too.
core=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
mlt-pack -q "$ML_TEST_DATA/tokenizers/gpt2" -o gpt2.mlt
for i in $(seq 300); do cat "$ML_TEST_DATA/README.md"; echo "line $i"; done > text
for format in ids jsonl u16 pieces; do
  mlt-encode -m gpt2.mlt --lines --format $format -t 1 text > one
  for t in 2 3 8; do
    mlt-encode -m gpt2.mlt --lines --format $format -t $t text | cmp - one
  done
  taskset -c "$core" mlt-encode -m gpt2.mlt --lines --format $format -t 64 text | cmp - one
done
# Without a newline at the end, and with a line longer than what is read at a time.
{ head -c 900000 /dev/zero | tr '\0' 'a'; printf '\n\nb\nlast'; } > long
mlt-encode -m gpt2.mlt --lines --count -t 2 long
mlt-encode -m gpt2.mlt --lines -t 1 text > ids
mlt-encode -m gpt2.mlt --lines -d -t 1 ids > back
cmp back text
mlt-encode -m gpt2.mlt --lines -d -t 4 ids | cmp - text
# Files side by side.
for i in $(seq 40); do echo "file $i" > f$i; done
mlt-encode -m gpt2.mlt $(seq -f 'f%.0f' 40) -t 1 > one
mlt-encode -m gpt2.mlt $(seq -f 'f%.0f' 40) -t 4 | cmp - one
[ "$(wc -l < one)" -eq 40 ]
rc=0; mlt-encode -m gpt2.mlt -t 4 no1 f1 no2 f2 no3 > some 2> messages || rc=$?; [ $rc -eq 1 ]
[ "$(wc -l < some)" -eq 2 ]
cut -d: -f2 messages
rc=0; mlt-encode -m gpt2.mlt --lines -t 4 . no1 f1 > some 2> messages || rc=$?; [ $rc -eq 1 ]
[ "$(wc -l < some)" -eq 1 ]
cut -d: -f2 messages
