# The forecast is right to the byte, for every choice.
for options in "--type q8_0" "--type q8_0 --scales f16" "--type q4_0" "--type q4_0 --scales f16 --q8 tok_emb,DOWN --q8 v"; do
  size=$(mlb-quant -q $options --dry-run "$ML_TEST_DATA/models/stories260K" | sed -n 's/^file: \([0-9]*\) bytes.*/\1/p')
  mlb-quant -q -f $options "$ML_TEST_DATA/models/stories260K" -o model.mlb
  [ "$size" = "$(stat -c %s model.mlb)" ]
  [ "$size" = "$(mlb-quant -q $options --dry-run --json "$ML_TEST_DATA/models/stories260K" | python3 -c 'import json, sys; print(json.load(sys.stdin)["bytes"])')" ]
done
mkdir empty; cd empty
mlb-quant --dry-run "$ML_TEST_DATA/models/stories260K" -o never.mlb | tail -n 1
[ -z "$(ls -A)" ]
mlb-quant --dry-run --q4-rule best "$ML_TEST_DATA/models/stories260K" > report
