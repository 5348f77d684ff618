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
# A step that ends so keeps the session of the run before it.
cp -r "$ML_TEST_DATA/oracle/llama2-mha" n
chmod -R u+w n
next=$(ml-run -q n --tokens 1,2,3 -n 1 --ids)
python3 - "$next" << 'END'
import json, struct, sys
data = bytearray(open("n/model.safetensors", "rb").read())
n = struct.unpack("<Q", data[:8])[0]
entry = json.loads(data[8:8 + n])["model.embed_tokens.weight"]
width = {"F32": 4, "F16": 2, "BF16": 2}[entry["dtype"]]
at = 8 + n + entry["data_offsets"][0] + int(sys.argv[1]) * entry["shape"][1] * width
data[at:at + width] = b"\xff" * width
open("n/model.safetensors", "wb").write(data)
END
rc=0; ml-run -q n --tokens 1,2,3 -n 4 --ids --session s.mls > ids || rc=$?
[ $rc -eq 1 ] && [ ! -e s.mls ]
