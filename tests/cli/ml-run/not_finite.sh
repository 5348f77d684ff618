# Weights that are not numbers make no text.
cp -r "$ML_TEST_DATA/models/stories260K" m
chmod -R u+w m
python3 - << 'END'
import json, struct
data = bytearray(open("m/model.safetensors", "rb").read())
n = struct.unpack("<Q", data[:8])[0]
begin = json.loads(data[8:8 + n])["model.norm.weight"]["data_offsets"][0]
data[8 + n + begin:8 + n + begin + 4] = struct.pack("<f", float("nan"))
open("m/model.safetensors", "wb").write(data)
END
rc=0; ml-run m -n 3 Once || rc=$?
[ $rc -eq 1 ]
