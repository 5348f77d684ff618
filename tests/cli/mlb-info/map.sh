# --map: shades by layer, in blocks or in ASCII, blank where a layer has no such matrix, and no wider than the terminal.
story=$ML_TEST_DATA/models/stories260K
unset LC_ALL LC_CTYPE LANG
TERM=dumb COLUMNS=80 mlb-info --map -q "$ML_TEST_DATA/models/qwen35-stories" > ascii
sed -n '/BY LAYER/,$p' ascii
if LC_ALL=C grep '[^ -~]' ascii; then exit 1; fi
TERM=xterm LC_ALL=C.UTF-8 mlb-info --map -q "$ML_TEST_DATA/models/qwen35-stories" > blocks
for pair in '·.' '░-' '▒+' '▓*' '█#'; do sed -i "/[0-9]  .*[·░▒▓█]/s/${pair%?}/${pair: -1}/g" blocks; done
cmp blocks ascii
# Experts of a layer are one cell; layers that are too many for the line share cells, the larger one shows.
python3 - <<'END_OF_FILE'
import json, struct
header, data = {}, b""
for layer in range(100):
    for expert in range(2):
        header[f"model.layers.{layer}.mlp.experts.{expert}.up_proj.weight"] = {
            "dtype": "F32", "shape": [2, 2], "data_offsets": [len(data), len(data) + 16]}
        data += struct.pack("<4f", *[(layer + 1.0) * (1 - 2 * expert)] * 4)
text = json.dumps(header).encode()
open("deep.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
END_OF_FILE
COLUMNS=76 TERM=dumb mlb-info --map -q deep.safetensors > narrow
sed -n '/BY LAYER/,$p' narrow
[ "$(awk 'length > 76 { n++ } END { print n + 0 }' narrow)" = 0 ]
# The numbers are those of --stats, and of its csv.
mlb-info --format csv --map -q "$story" > map.csv
mlb-info --format csv --stats -q "$story" | cmp - map.csv
mlb-info --json --map -q "$story" > map.json
python3 - <<'END_OF_CHECK'
import csv, json
rows = list(csv.DictReader(open("map.csv", newline="")))
tensors = json.load(open("map.json"))["tensors"]
assert len(rows) == len(tensors) == 47
for row, tensor in zip(rows, tensors):
    assert row["name"] == tensor["name"] and row["encoding"] == "f32" and int(row["n_bytes"]) == tensor["n_bytes"]
    assert row["layer"] == ("" if tensor["layer"] is None else str(tensor["layer"]))
    assert [int(n) for n in row["shape"].split("x")] == tensor["shape"]
    assert float(row["stats_rms"]) == tensor["stats"]["rms"] and int(row["stats_histogram_19"]) == tensor["stats"]["histogram"][19]
END_OF_CHECK
# Several files make one table; without arrays it is empty; a difference has no such form.
mlb-info --format csv "$story" deep.safetensors > both.csv
[ "$(wc -l < both.csv)" = 248 ]
[ "$(head -n 1 both.csv | cut -d, -f 1-3)" = path,name,layer ]
rc=0; mlb-info --diff --format csv "$story" "$story" || rc=$?
[ $rc = 2 ]
# What has no matrices in layers says so.
python3 "$(dirname "$0")/make_mlt.py" a.mlt
mlb-info --map a.mlt > /dev/null
