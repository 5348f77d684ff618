# A single .safetensors becomes a single file, in both directions.
model=$ML_TEST_DATA/models/stories260K
seed-pack -q --encoding q4 --rule '*embed_tokens*=seed4' "$model/model.safetensors" -o packed.safetensors
mlb-info --check packed.safetensors | grep encodings | sed 's/  */ /g'
seed-pack -q --encoding bf16 packed.safetensors -o plain.safetensors
mlb-info --check plain.safetensors | grep encodings | sed 's/  */ /g'
[ "$(ls -A)" = "$(printf 'packed.safetensors\nplain.safetensors')" ]
# What comes through a pipe is read once, for the plan and for the packing.
pack() { seed-pack -q -f --encoding q4 --rule '*embed_tokens*=seed4' "$@" -o piped.safetensors; cmp piped.safetensors packed.safetensors; rm piped.safetensors; }
pack <(cat "$model/model.safetensors")
cat "$model/model.safetensors" | pack -
pack - < "$model/model.safetensors"
mkfifo fifo; cat "$model/model.safetensors" > fifo & pack fifo
wait; rm fifo
cat plain.safetensors | seed-pack --dry-run --json - -o piped.safetensors > plan; grep -q '"dry_run":true' plan
fails() { rc=0; seed-pack -q "$@" -o out 2>> messages || rc=$?; [ $rc -eq 1 ]; [ ! -e out ]; }
fails - < /dev/null
fails <(echo text)
fails <(head -c 100000 plain.safetensors)
fails /dev/zero
fails - --work out < plain.safetensors
fails - --imatrix missing < plain.safetensors
fails <(cat plain.safetensors) --to-mla 512 --calibrate missing
rc=0; seed-pack -q -f - -o plain.safetensors < plain.safetensors 2>> messages || rc=$?; [ $rc -eq 1 ]
rc=0; seed-pack -q - --imatrix - -o out < plain.safetensors 2>> messages || rc=$?; [ $rc -eq 2 ]
cat messages
