# --dry-run of --imatrix tells the size of the file and the chunks; -v what was decided.
story=$ML_TEST_DATA/models/stories260K
printf 'Once upon a time, there was a little dog. The dog liked to play with a big ball.' > text
ml-run "$story" --imatrix a.mli -p text --chunk 8 --dry-run > plan
[ ! -e a.mli ]
ml-run -q "$story" --imatrix a.mli -p text --chunk 8
tokens=$(mlb-info --json a.mli | python3 -c 'import json, sys; print(json.load(sys.stdin)["fields"]["tokens"])')
grep -q "^file: $(stat -c %s a.mli) bytes; $tokens tokens in [0-9]* chunks of 8$" plan
ml-run "$story" --imatrix a.mli -p text --chunk 8 --shard 2/2 --dry-run > half
if cmp -s plan half; then exit 1; fi
ml-run -v "$story" -n 3 -t 1 --kv f32 Once > answer 2> said
for wanted in 'threads 1: as --threads says' '.*stories260K: folder, ' 'tokenizer .*: beside the model' 'context [0-9]* positions: the prompt and -n tokens' \
  'KV cache f32: as --kv says'; do
  [ "$(grep -c "^ml-run: $wanted" said)" = 1 ]
done
ml-run -q "$story" -n 3 --kv f32 Once | cmp - answer
rc=0; ml-run "$story" -n 3 Once --dry-run 2> /dev/null || rc=$?
[ $rc = 2 ]
