# What a matrix holds, as text and as JSON.
make="python3 $ML_TEST_DATA/../cli/imatrix-merge/make_mli.py"
$make a.mli first=500
$make b.mli tokens=6
imatrix-merge --stats a.mli b.mli
imatrix-merge --json a.mli b.mli > stats.json
[ "$(wc -l < stats.json)" -eq 1 ]
python3 - << 'END'
import json
stats = json.load(open("stats.json"))
assert stats["tokens"] == 10 and stats["classifier_tokens"] == 4 and stats["q_dim"] == 32 and stats["files"] == ["a.mli", "b.mli"]
assert [row["name"] for row in stats["inputs"]] == ["layers.0.qkv", "layers.0.o", "layers.0.gate_up", "layers.0.down", "classifier"]
qkv = stats["inputs"][0]
assert qkv["max"] == 50.1 and qkv["max_channel"] == 0 and len(qkv["profile"]) == 24 and qkv["n_channels"] == 32
END
