# A checkpoint with a NaN is not sound; the statistics leave it out.
cp -r "$ML_TEST_DATA/models/stories260K" model && chmod -R u+w model
python3 - <<'P'
import json, struct
path = "model/model.safetensors"
data = bytearray(open(path, "rb").read())
n = struct.unpack_from("<Q", data)[0]
begin = 8 + n + json.loads(data[8:8 + n])["model.layers.2.mlp.down_proj.weight"]["data_offsets"][0]
struct.pack_into("<f", data, begin + 4 * (172 * 5 + 3), float("nan"))
open(path, "wb").write(data)
P
mlb-info model > /dev/null
rc=0; mlb-info --check model > /dev/null || rc=$?; [ $rc -eq 1 ]
mlb-info --stats model | grep -o 'layers.2.mlp.down.*\|1 not finite' | tail -n 1 | grep -o '1 not finite'
# Nor are its file alone, and the same of a family that is not known.
rc=0; mlb-info --check model/model.safetensors > /dev/null || rc=$?; [ $rc -eq 1 ]
sed -i 's/"model_type": *"llama"/"model_type": "mamba"/' model/config.json
rc=0; mlb-info --check model > /dev/null || rc=$?; [ $rc -eq 1 ]
