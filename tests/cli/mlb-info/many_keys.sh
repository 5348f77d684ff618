# Keys of a file's metadata take linear time, as text, as JSON and compared.
python3 - <<'P'
import json, struct
def write(path, header, data=b"ab"):
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
tensor = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
write("keys.safetensors", {"__metadata__": {f"k{i}": "v" for i in range(200000)}, "w": tensor})
text = lambda s: struct.pack("<Q", len(s)) + s
keys = [(b"general.architecture", 8, text(b"none"))] + [(b"k%d" % i, 0, b"\1") for i in range(200000)]
open("keys.gguf", "wb").write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)) + b"".join(text(k) + struct.pack("<I", t) + v for k, t, v in keys))
P
for file in keys.safetensors keys.gguf; do
  timeout 60 mlb-info --json $file > out
  python3 - <<'P'
import json
fields = json.load(open("out"))["fields"]
assert {name.rsplit(".", 1)[-1] for name in fields} >= {f"k{i}" for i in range(200000)}
P
  timeout 60 mlb-info $file > /dev/null
  timeout 60 mlb-info --json --diff $file keys.safetensors > /dev/null || true
done
