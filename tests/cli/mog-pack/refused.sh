# Mistakes: one line, exit 1, and nothing is left behind.
recipe="$ML_TEST_DATA/../../share/recipes/qwen3.json"
model="$ML_TEST_DATA/oracle/qwen3-headdim"
fails() {
  rc=0
  mog-pack "$@" -o out.mog || rc=$?
  [ $rc -eq 1 ]
  [ ! -e out.mog ]
}
fails "$recipe" --root "$model" --set 'layers.7.*=f32'
fails "$recipe" --root "$model" --set 'embed=int5'
fails "$ML_TEST_DATA/../../share/recipes/llama.json" --root "$model"
fails "$recipe" --root nowhere
sed 's/"weights": "."/"weights": "..\/x"/' "$recipe" >outside.json
fails outside.json --root "$model"
sed 's/"embed"/"embedding"/' "$recipe" >slot.json
fails slot.json --root "$model"
echo '{"a": 1,' >broken.json
fails broken.json
fails missing.json
touch kept.mog
rc=0
mog-pack "$recipe" --root "$model" -o kept.mog || rc=$?
[ $rc -eq 1 ] && [ ! -s kept.mog ]
mkdir copy && cp "$model"/* copy
rc=0
mog-pack "$recipe" --root copy -f -o copy/model.safetensors || rc=$?
[ $rc -eq 1 ] && cmp copy/model.safetensors "$model/model.safetensors"
