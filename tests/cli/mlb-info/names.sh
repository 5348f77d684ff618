# Names from a file cannot drive the terminal.
python3 - <<'P'
import json, struct
header = json.dumps({"__metadata__": {"note\x1b[2J": "two\nlines"}, "w\x1b]0;title\x07": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}).encode()
open("odd.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + b"ab")
header = json.dumps({"w\x1b[31m": {"dtype": "U9", "shape": [2], "data_offsets": [0, 2]}}).encode()
open("bad.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + b"ab")
P
mlb-info --tensors odd.safetensors > out
[ "$(grep -c $'[\x1b\x07]' out)" = 0 ]
rc=0; mlb-info bad.safetensors 2> err || rc=$?; [ $rc -eq 1 ]
[ "$(grep -c $'\x1b' err)" = 0 ]
cat out err
