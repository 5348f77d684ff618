# A single .safetensors becomes a single file, in both directions.
model=$ML_TEST_DATA/models/stories260K
seed-pack -q --encoding q4 --rule '*embed_tokens*=seed4' "$model/model.safetensors" -o packed.safetensors
mlb-info --check packed.safetensors | grep encodings | sed 's/  */ /g'
seed-pack -q --encoding bf16 packed.safetensors -o plain.safetensors
mlb-info --check plain.safetensors | grep encodings | sed 's/  */ /g'
[ "$(ls -A)" = "$(printf 'packed.safetensors\nplain.safetensors')" ]
