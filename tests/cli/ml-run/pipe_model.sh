# A model in a pipe goes with a tokenizer of any kind; beside one, a model that is none is exit 1.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" -o model.mlb
ml-run model.mlb -m "$story" -n 6 Once > expected
mkfifo fifo
cat model.mlb > fifo &
ml-run fifo -m "$story" -n 6 Once | cmp - expected
ml-run - -m "$story" -n 6 Once < model.mlb | cmp - expected
head -c 100 /dev/zero > zeros.mlb
for model in missing.mlb zeros.mlb; do
  for tool in ml-run ml-eval; do
    rc=0; $tool $model -m "$story" "$story/config.json" 2> message || rc=$?
    [ $rc -eq 1 ] && [ "$(wc -l < message)" -eq 1 ]
  done
done
