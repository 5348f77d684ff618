# The recipe for GNU parallel gives what one run gives, however it is to be printed, and refuses before any work what it cannot give.
command -v parallel > /dev/null || { echo "GNU parallel is not installed"; exit 77; }
recipe=$ML_TEST_DATA/../../share/batches/eval-parallel
model=$ML_TEST_DATA/models/stories260K
for i in $(seq 12); do echo "Once upon a time there was a girl, and she had $i red balls."; done > text.txt
ml-eval --dry-run "$model" -c 64 text.txt > plan
grep -q ', 5 windows of 64' plan
one() { ml-eval -q "$model" -c 64 text.txt "$@"; }
many() { sh "$recipe" "$@"; }
one > one
many 3 "$model" -c 64 text.txt > joined
cmp one joined
many 5 "$model" -c 64 text.txt > joined
cmp one joined
one --by-position > one
many 3 "$model" -c 64 --by-position text.txt > joined
cmp one joined
one --format csv --by-position > one
many 3 --by-position "$model" text.txt -c 64 --format csv > joined
cmp one joined
one --format csv > one
many 3 "$model" text.txt -c 64 --format=csv > joined
cmp one joined
one --json > one
many 3 "$model" text.txt -c 64 --json > joined
cmp one joined
many 3 "$model" text.txt -c 64 --html page.html > joined
one > one
cmp one joined
grep -q '<svg' page.html
# Words after -- are files.
cp text.txt ./--json
ml-eval -q "$model" -c 64 -- --json > one
many 2 "$model" -c 64 -- --json > joined
cmp one joined

refused() { # STATUS WORD...: one line
  local status=$1 rc=0
  shift
  many "$@" > out 2> err < /dev/null || rc=$?
  [ $rc -eq "$status" ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ]
  cat err >&2
}
refused 1 3 "$model" text.txt -c 64 --html page.html
many 2 "$model" text.txt -c 64 --html page.html -f > joined
refused 1 3 "$model" text.txt -f --html text.txt
refused 1 6 "$model" text.txt -c 64
refused 2 x "$model" text.txt
refused 2 0 "$model" text.txt
refused 2 -1 "$model" text.txt
refused 2 99999999999999999999 "$model" text.txt
refused 2 3 "$model"
refused 2 3 "$model" text.txt --by-window
refused 2 3 "$model" text.txt --save-logits logits
refused 2 3 "$model" text.txt --shard=1/2
refused 2 3 "$model" text.txt --dry-run
refused 2 3 "$model" text.txt --format xml
refused 2 3 "$model" text.txt --html
refused 2 3 "$model" text.txt --frobnicate
refused 1 3 missing.mlb text.txt
refused 1 3 "$model" missing.txt
refused 1 3 "$model" -c 64
