# A command line without MODEL operand is read as llama-cli reads it: -m is the model, -p the prompt.
model=$ML_TEST_DATA/models/stories260K
ml-run "$model" -n 12 "Once upon a time" > expected
same() { ml-run "$@" > got && cmp expected got; }
same -m "$model" -p "Once upon a time" -n 12
same -m "$model" --prompt "Once upon a time" --predict 12 --ctx-size 64 --batch-size 2
same --model "$model" -n 12 Once upon a time
printf 'Once upon a time\n' > prompt.txt
same -m "$model" --file prompt.txt -n 12
same -m "$model" -n 12 < prompt.txt
same -m "$model" --tokenizer "$model/tokenizer.json" -p "Once upon a time" -n 12
# With the operand -m is the tokenizer and -p a file.
same "$model" -m "$model/tokenizer.json" -p prompt.txt -n 12
ml-run "$model" --temp 0.8 --seed 7 --top-k 20 --top-p 0.9 -n 12 Once > expected
same -m "$model" --temp 0.8 -s 7 --top-k 20 --top-p 0.9 -n 12 -t 1 -p Once
ml-run "$model" -n 12 "" > expected
same -m "$model" -n 12 --prompt ""
# The name of a file as the prompt: that may not be what was meant.
ml-run -m "$model" -n 2 -p prompt.txt > got
ml-run -q -m "$model" -n 2 -p prompt.txt

usage() { local rc=0; ml-run "$@" < /dev/null || rc=$?; [ $rc -eq 2 ]; }
usage
usage -p text
usage -m "$model" --model "$model"
usage "$model" -m x.mlt --tokenizer x.mlt
usage "$model" -p a.txt --prompt-file b.txt
usage "$model" --prompt a --prompt-file b.txt
usage "$model" --prompt a b
usage -m "$model" -p a --prompt b
