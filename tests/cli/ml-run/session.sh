# A session goes on with the same bits as without the pause: prompt once, continue later.
for model in "$ML_TEST_DATA/models/stories260K" "$ML_TEST_DATA/models/qwen35-stories" "$ML_TEST_DATA/oracle/mistral-sliding"; do
  rm -f session
  prompt=1,49,53,261,78,7,8,9,10,11,12,13,14,15,16,17,18
  ml-run "$model" --tokens "$prompt" --ids -n 24 > whole
  ml-run "$model" --tokens "$prompt" --ids -n 0 --session session
  : > parts
  for n in 1 10 13; do
    ml-run "$model" -m "$ML_TEST_DATA/models/stories260K" --session session --ids -n $n "" >> parts
  done
  [ "$(cat whole)" = "$(tr '\n' ' ' < parts | sed 's/ $//')" ] || { cat whole parts; exit 1; }
done
# Another model, another cache, damage: refused, and the file stays.
story=$ML_TEST_DATA/models/stories260K
rm session
ml-run "$story" -n 4 --session session "Once upon a time" > /dev/null
cp session before
try() { local rc=0; ml-run "$@" -n 1 "x" > out || rc=$?; [ $rc -eq 1 ] && cmp session before; }
try "$ML_TEST_DATA/models/qwen3-stories" --session session
try "$story" --session session --kv f32
try "$story" --session session --acts f32 --kv f16
try "$story" --session session -c 5
printf 'x' | dd of=session bs=1 seek=100 conv=notrunc status=none
cp session before
try "$story" --session session
head -c 40 before > session
cp session before
try "$story" --session session
# A place that cannot be written costs no answer; a place that cannot be meant is a usage error.
rm session
try_exit() { local rc=0; ml-run "$story" -n 1 "${@:2}" x > out || rc=$?; [ $rc -eq "$1" ] && [ ! -s out ] && [ ! -e session ]; }
try_exit 1 --session nowhere/session
try_exit 2 --session -
try_exit 2 --session session --logits "$PWD/session"
