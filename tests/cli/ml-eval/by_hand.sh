# Perplexity, divergence and agreement are those that plain Python computes from ml-run's logits.
story=$ML_TEST_DATA/models/stories260K
oracle=$ML_TEST_DATA/../oracle/evaluate.py
printf 'Once upon a time, there was a little girl named Lily. She saw a big red ball in the park and was happy.' > text
mlb-quant -q "$story" --type q4_0 -o q4.mlb
for cut in "16 16" "16 5" "64 32"; do
  read -r ctx stride <<< "$cut"
  ml-eval q4.mlb -m "$story/tokenizer.json" text -c "$ctx" --stride "$stride" --json > plain.json
  python3 "$oracle" q4.mlb "$story/tokenizer.json" text "$ctx" "$stride" plain.json
  ml-eval q4.mlb -m "$story/tokenizer.json" text -c "$ctx" --stride "$stride" --against "$story" --json > compared.json
  python3 "$oracle" q4.mlb "$story/tokenizer.json" text "$ctx" "$stride" compared.json "$story"
done
