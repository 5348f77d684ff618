# The forecast is right to the byte and writes nothing.
model=$ML_TEST_DATA/models/stories260K
options="--encoding q8 --rule *embed_tokens*=q4g32 --shard-size 100K"
size=$(seed-pack -q $options --dry-run "$model" -o packed | sed -n 's/^shards: \([0-9]*\) bytes.*/\1/p')
[ -z "$(ls -A)" ]
seed-pack -q $options "$model" -o packed
[ "$size" = "$(cat packed/*.safetensors | wc -c)" ]
[ "$size" = "$(seed-pack -q $options --json --dry-run "$model" -o x | python3 -c 'import json, sys; print(json.load(sys.stdin)["bytes"])')" ]
seed-pack --dry-run --encoding seed4 "$model" -o x | tail -n 3
