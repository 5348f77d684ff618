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
fails "$ML_TEST_DATA/../../share/recipes/llama.json" --root "$model"
fails "$recipe" --root nowhere
sed 's/"weights": "."/"weights": "..\/x"/' "$recipe" >outside.json
fails outside.json --root "$model"
sed 's/"embed"/"embedding"/' "$recipe" >slot.json
fails slot.json --root "$model"
echo '{"a": 1,' >broken.json
fails broken.json
fails missing.json
fails -
fails
fails - <"$recipe"
touch kept.mog
rc=0
mog-pack "$recipe" --root "$model" -o kept.mog || rc=$?
[ $rc -eq 1 ] && [ ! -s kept.mog ]
mkdir copy && cp "$model"/* copy
rc=0
mog-pack "$recipe" --root copy -f -o copy/model.safetensors || rc=$?
[ $rc -eq 1 ] && cmp copy/model.safetensors "$model/model.safetensors"
# Nor what names the tokenizer's special tokens.
model="$ML_TEST_DATA/models/qwen3-stories"
mkdir whole && cp "$model"/* whole
echo '{}' >whole/generation_config.json
cp whole/generation_config.json before.json
rc=0
mog-pack "$recipe" --root whole -f -o whole/generation_config.json || rc=$?
[ $rc -eq 1 ] && cmp whole/generation_config.json before.json
# Nor the index of the shards.
python3 - <<'END'
import json
with open('whole/model.safetensors', 'rb') as file:
    names = json.loads(file.read(int.from_bytes(file.read(8), 'little')))
names.pop('__metadata__', None)
with open('whole/model.safetensors.index.json', 'w') as file:
    json.dump({'weight_map': {name: 'model.safetensors' for name in names}}, file)
END
cp whole/model.safetensors.index.json before.json
rc=0
mog-pack "$recipe" --root whole -f -o whole/model.safetensors.index.json || rc=$?
[ $rc -eq 1 ] && cmp whole/model.safetensors.index.json before.json
# A recipe alone: there is no checkpoint beside it.
mkdir recipes
cp "$recipe" recipes/alone.json
rc=0; mog-pack recipes/alone.json -o alone.mog || rc=$?
[ $rc -eq 1 ] && [ ! -e alone.mog ]
rc=0; mog-pack recipes/alone.json --root nowhere -o alone.mog || rc=$?
[ $rc -eq 1 ]
