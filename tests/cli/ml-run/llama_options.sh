# Options of llama.cpp with one dash and several letters are refused by name, not read as a letter and its value.
story=$ML_TEST_DATA/models/stories260K
usage() { local rc=0; ml-run "$@" < /dev/null > out || rc=$?; [ $rc -eq 2 ] && [ ! -s out ]; }
usage -m "$story" -p Once -ngl 99
usage -m "$story" -p Once -cnv
usage -m "$story" -p Once -no-cnv
usage -m "$story" -p Once -ctk q8_0
usage -m "$story" -p Once -st
usage -m "$story" -p Once -sys text
usage -m "$story" -p Once -tb 4
usage -m "$story" -p Once -fa on
usage -m "$story" -p Once -md draft.gguf
usage -hf a/b
usage -ot x -m "$story"
# What is the value of an option, or an operand behind --, is none.
ml-run -m "$story" -n 2 -p -cnv > /dev/null
ml-run -m "$story" -n 2 --prompt -cnv > /dev/null
ml-run --model "$story" -n 2 -- -cnv > /dev/null
# -m MODEL -f FILE
printf 'Once upon a time' > text.txt
no_model() { local rc=0; ml-run "$@" < /dev/null > out || rc=$?; [ $rc -eq 1 ] && [ ! -s out ]; }
no_model -m "$story" -p Once -f text.txt
no_model -m "$story" text.txt
# Numbers out of range; -1 of -n and --seed are llama.cpp's.
for arguments in '-n -2' '-n gl' '-n 5000000000' '--seed 99999999999999999999' '--seed -2' '-b 0' '-t 4097' '--top-k -1' '--temp x' '-c -1' '--tokens x'; do
  usage -m "$story" -p Once $arguments
done
ml-run -m "$story" -p Once -n -1 > all
ml-run -m "$story" -p Once -n 4294967295 > same
cmp all same
[ "$(wc -c < all)" -gt 100 ]
ml-run -m "$story" -p Once -n 20 --temp 1 --seed -1 > drawn 2> note
seed=$(sed -n 's/^ml-run: --seed \([0-9]*\) gives this answer again$/\1/p' note)
[ -n "$seed" ]
ml-run -m "$story" -p Once -n 20 --temp 1 --seed "$seed" > again
cmp drawn again
ml-run -q -m "$story" -p Once -n 2 --seed -1 > /dev/null
