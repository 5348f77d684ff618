# A model with mixtures of experts: what it is, a defect in one expert; a .mlb has no place for it.
mova=$ML_TEST_DATA/mova/mova
ln -s "$mova" model
mlb-info --check model
mlb-info --json model | python3 -c '
import json, sys
model = json.load(sys.stdin)["model"]
print(model["layers"], model["norm_groups"], model["gate_function"], model["mixture"])'
cp -rL model broken
python3 - << 'END'
import json
import struct
path = "broken/model.safetensors"
data = bytearray(open(path, "rb").read())
length = struct.unpack_from("<Q", data)[0]
begin = json.loads(data[8:8 + length])["model.layers.2.mlp.experts.up_proj.weight"]["data_offsets"][0]
at = 8 + length + begin + 2 * (3 * 64 * 128 + 5 * 128 + 7)  # expert 3, row 5, column 7
data[at:at + 2] = b"\xc0\x7f"
open(path, "wb").write(data)
END
mlb-info --check broken | tail -n 1 || true
rc=0
mlb-quant model -o model.mlb || rc=$?
echo "$rc"
