# One clear line and status 1 for what cannot work, 2 for what cannot be meant.
story=$ML_TEST_DATA/models/stories260K
try() { local rc=0; "$@" < /dev/null || rc=$?; echo "$rc"; }
try ml-run missing.mlb x
try ml-run "$ML_TEST_DATA/oracle/llama2-mha" x
try ml-run "$story" -c 3 "Once upon a time"
try ml-run "$story" -c 513 "Once upon a time"
try ml-run "$story" --tokens 1,512 -n 1
try ml-run "$story" --temp -1 x
touch logits
try ml-run "$story" -n 0 --logits logits x
try ml-run - x
try ml-run -
try ml-run "$story" --tokens 1 x
try ml-run "$story" --logits - x
try ml-run "$story" --target sse9 x
try ml-run "$story" --acts q5 x
try ml-run "$story" --n-draft 4 x
try ml-run "$story" --stop "$(printf '\303')" x
try ml-run "$story" x --kv
try ml-run "$story" --logits /dev/stdout x
ml-run -q "$story" --jsonl < . || echo $?
