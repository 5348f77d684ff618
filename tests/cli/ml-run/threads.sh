# More threads than cores, and all of them on one core: the same bits, and it ends.
core=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
prompt="Once upon a time, there was a little girl named Lily. She loved to play outside in the park."
run() { ml-run "$model" --digest -n 20 "$prompt" "$@" 2>&1 > /dev/null; }
on_one_core() { taskset -c "$core" ml-run "$model" --digest -n 20 "$prompt" "$@" 2>&1 > /dev/null; }
for model in "$ML_TEST_DATA"/models/{stories260K,qwen35-stories}; do
  run -t 1 > expected
  [ "$(grep -c '^digest step ' expected)" -eq 19 ]
  for threads in 2 64 1000; do
    run -t $threads | cmp - expected
    on_one_core -t $threads | cmp - expected
  done
done
