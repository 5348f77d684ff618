# The report is one JSON object that agrees with the file.
mlb-quant --json --type q4_0 --q8 V "$ML_TEST_DATA/oracle/llama3-gqa-q4" -o model.mlb > report.json
[ "$(wc -l < report.json)" -eq 1 ]
python3 - << 'END'
import json, os
report = json.load(open("report.json"))
assert report["bytes"] == os.path.getsize("model.mlb")
assert report["q8"] == ["v"] and report["type"] == "q4_0" and report["scales"] == "f32"
rows = {row["name"]: row for row in report["tensors"]}
assert len(rows) == 30
for name, row in rows.items():
    encoding = "f32" if "norm" in name else "q8_0" if name.endswith(".wv") else "q4_0"
    assert row["encoding"] == encoding, row
    assert row["bytes"] == row["rows"] * row["cols"] * {"f32": 4, "q8_0": 36 / 32, "q4_0": 20 / 32}[encoding], row
    assert row["seconds"] >= 0
    if encoding != "q8_0":
        assert row["rms_error"] == 0 and row["relative_error"] == 0, row
    else:
        assert 0 < row["relative_error"] < 0.01, row
assert rows["layers.0.wq"]["source"].endswith("self_attn.q_proj.weight")
END
# It does not share standard output with the model, by whatever name that goes.
for output in - /dev/stdout /dev/fd/1 /proc/self/fd/1 /proc/thread-self/fd/1; do
  rc=0; mlb-quant --json "$ML_TEST_DATA/models/stories260K" -o "$output" 2> err | cat > out || rc=$?
  [ $rc -eq 2 ] && [ ! -s out ]
  grep -q 'needs -o FILE' err
done
