# Every encoding goes there and back: what a folder stands for is what it decodes to.
model=$ML_TEST_DATA/models/stories260K
for encoding in bf16 q8 q4 q4g32 SEED4P4 seed4; do
  seed-pack -q --encoding $encoding "$model" -o packed
  mlb-info --check packed > info
  for file in tokenizer.json tokenizer_config.json; do cmp packed/$file "$model/$file"; done
  seed-pack -q --encoding bf16 packed -o plain
  mlb-quant -q packed -o a.mlb
  mlb-quant -q plain -o b.mlb
  cmp a.mlb b.mlb
  # What has the encoding already is copied.
  seed-pack -q --encoding $encoding packed -o again
  diff -r packed again
  rm -r packed plain again a.mlb b.mlb
done
