# What a matrix holds: as text, as JSON, as csv, and as a map of its channels.
make="python3 $ML_TEST_DATA/../cli/imatrix-merge/make_mli.py"
$make a.mli first=500
$make b.mli tokens=6
TERM=xterm LC_ALL=C.UTF-8 COLUMNS=100 imatrix-merge --stats a.mli b.mli
TERM=xterm LC_ALL=C COLUMNS=77 imatrix-merge --stats a.mli b.mli > narrow
cat narrow
if LC_ALL=C grep '[^ -~]' narrow; then exit 1; fi
[ "$(awk 'length > 77 { n++ } END { print n + 0 }' narrow)" = 0 ]
TERM=xterm LC_ALL=C COLUMNS=20 imatrix-merge --stats a.mli b.mli > narrow
[ "$(grep -c '|........|$' narrow)" = 5 ]
imatrix-merge --json a.mli b.mli > stats.json
imatrix-merge --format csv a.mli b.mli > stats.csv
TERM=dumb COLUMNS=50 imatrix-merge --map a.mli b.mli
TERM=xterm LC_ALL=C.UTF-8 COLUMNS=50 imatrix-merge --map a.mli b.mli > blocks
grep -q '^layer 0 *█·*░' blocks
[ "$(wc -l < stats.json)" -eq 1 ]
python3 - << 'END'
import csv, json
stats = json.load(open("stats.json"))
assert stats["tokens"] == 10 and stats["classifier_tokens"] == 4 and stats["q_dim"] == 32 and stats["files"] == ["a.mli", "b.mli"]
assert [row["name"] for row in stats["inputs"]] == ["layers.0.qkv", "layers.0.o", "layers.0.gate_up", "layers.0.down", "classifier"]
qkv = stats["inputs"][0]
rows = list(csv.DictReader(open("stats.csv", newline="")))
assert [row["name"] for row in rows] == [row["name"] for row in stats["inputs"]] and rows[0]["layer"] == "0" and rows[4]["layer"] == ""
assert float(rows[0]["mean"]) == qkv["mean"] and float(rows[0]["profile_23"]) == qkv["profile"][23]
assert qkv["max"] == 50.1 and qkv["max_channel"] == 0 and len(qkv["profile"]) == 24 and qkv["n_channels"] == 32
END
