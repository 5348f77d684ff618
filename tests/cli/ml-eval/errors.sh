# One clear line and status 1 for what cannot work, 2 for what cannot be meant.
story=$ML_TEST_DATA/models/stories260K
: > empty
printf 'Once upon a time' > good
try() { local rc=0; "$@" > out < /dev/null || rc=$?; echo "$rc"; }
try ml-eval "$story" empty
try ml-eval "$story"
try ml-eval "$story" missing
try ml-eval "$story" empty good missing
grep -q '^tokens scored' out
try ml-eval missing.mlb good
try ml-eval "$ML_TEST_DATA/oracle/llama2-mha" good
try ml-eval "$ML_TEST_DATA/oracle/llama2-mha" -m "$story" good
try ml-eval "$story" good -c 513
try ml-eval "$story" good -c 8 --stride 9
try ml-eval "$story" good --shard 2/2
try ml-eval "$story" good --against "$ML_TEST_DATA/oracle/llama2-mha"
try ml-eval "$story" good --shard 3/2
try ml-eval "$story" good --bos --no-bos
try ml-eval - -
try ml-eval "$story" - -
try ml-eval --merge - -
try ml-eval "$story" good --save-logits -
try ml-eval "$story" good --acts q5
try ml-eval --merge good
try ml-eval --merge good --shard 1/2
try ml-eval --merge good -c 8
try ml-eval --merge good --acts q8
try ml-eval "$story" good --bits 32
try ml-eval "$story" good --stride 0
try ml-eval "$story" good -c 0
try ml-eval "$story" good --windows 0
try ml-eval "$story" good --split ''
try ml-eval "$story" good --split '\q'
try ml-eval "$story" good --split 'a\'
ml-eval "$story" good --json > a.json
ml-eval "$story" good --json -c 4 > b.json
try ml-eval --merge a.json b.json
try ml-eval -m "$story" -ngl 99 good
try ml-eval -m "$story" -f good
try ml-eval ""
sed 's/"n_tokens":\([0-9]*\),"nll":\["/"n_tokens":\1,"nll":["z/' a.json > c.json
try ml-eval --merge c.json
try ml-eval "$story" good --save-logits x.l --html ./x.l
