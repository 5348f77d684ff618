# One file packs, is sound, and runs with the tokenizer that it holds, as the checkpoint does.
recipe="$ML_TEST_DATA/../../share/recipes/qwen3.json"
model="$ML_TEST_DATA/models/qwen3-stories"
mog-pack "$recipe" --root "$model" -o f32.mog --set '*=f32'
mlb-info --check f32.mog >info
grep -q 'check: sound' info
mlb-quant "$model" -o q8.mlb -q
mog-pack "$recipe" --root "$model" -o q8.mog -q
ml-run f32.mog -n 30 --acts f32 'Once upon a time' >a
ml-run "$model" -n 30 --acts f32 'Once upon a time' >b
cmp a b
ml-run q8.mog -n 20 --digest 'Once upon a time' 2>a
ml-run q8.mlb -m "$model" -n 20 --digest 'Once upon a time' 2>b
cmp a b
mlt-encode -m q8.mog --format ids <<<'a little girl named Lily' >a
mlt-encode -m "$model" --format ids <<<'a little girl named Lily' >b
cmp a b
mlt-encode -m q8.mog -d a
mog-pack "$recipe" --root "$model" -o - -q >piped.mog
cmp piped.mog q8.mog
# The recipe from standard input; without --root the checkpoint is the current folder.
mog-pack --root "$model" -o piped.mog -f -q <"$recipe"
cmp piped.mog q8.mog
cat "$recipe" | mog-pack - --root "$model" -o piped.mog -f -q
cmp piped.mog q8.mog
(cd "$model" && mog-pack -q <"$recipe") >piped.mog
cmp piped.mog q8.mog
# Every target writes the same bytes.
mog-pack "$recipe" --root "$model" --set '*_proj=int4_g32_f16' -o best.mog -q
ML_TARGET=scalar mog-pack "$recipe" --root "$model" --set '*_proj=int4_g32_f16' -o scalar.mog -q
cmp scalar.mog best.mog
