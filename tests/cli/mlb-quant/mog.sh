# The integer encodings of a .mog that hold the quants of Q4_0 and Q8_0, in their order or another, become them as
# they are.
recipe="$ML_TEST_DATA/../../share/recipes/qwen3.json"
model="$ML_TEST_DATA/models/qwen3-stories"
same() {
  mog-pack -q "$recipe" --root "$model" --set "*_proj=$2" --set "embed=$2" -o "$2.mog"
  mlb-quant -q --json --type "$1" --scales "$3" "$2.mog" -o "$2.mlb" > report.json
  mlb-quant -q --type "$1" --scales "$3" "$model" -f -o wanted.mlb
  cmp "$2.mlb" wanted.mlb
  python3 - <<'END'
import json
with open('report.json') as file:
    tensors = json.load(file)['tensors']
assert all(t['copied'] and t['rms_error'] == 0 for t in tensors)
END
}
for order in int4 int4h int4r16; do
  same q4_0 ${order}_g32_f32 f32
  same q4_0 ${order}_g32_f16 f16
done
for order in int8 int8r16; do
  same q8_0 ${order}_g32_f32 f32
  same q8_0 ${order}_g32_f16 f16
done
# Another length of group is another encoding.
mog-pack -q "$recipe" --root "$model" --set '*_proj=int4_g64_f32' -o g64.mog
mlb-quant -q --json --type q4_0 g64.mog -o g64.mlb > report.json
grep -q '"copied":false' report.json
