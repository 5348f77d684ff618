# The formats hold the same rows; JSON and CSV parse, also when a model cannot be used.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" --type q8_0 -o q8.mlb
run() { ml-bench q8.mlb "$story" -p 9,20 -n 3 -d 0,5 -t 1,2 -r 2 "$@"; }
run -o json > all.json
run --format jsonl > all.jsonl
run --format csv > all.csv
run > all.md
rc=0; ml-bench missing.mlb q8.mlb -p 4 -n 0 -r 1 -o json > partly.json 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'missing.mlb: cannot open' err
rc=0; ml-bench missing.mlb -r 1 -o json > none.json 2> err || rc=$?
[ $rc -eq 1 ]
python3 - <<'END'
import csv, json
rows = json.load(open("all.json"))
lines = [json.loads(line) for line in open("all.jsonl")]
cells = list(csv.DictReader(open("all.csv")))
key = lambda row: tuple(str(row[name]) for name in ("model", "test", "threads", "target", "n_prompt", "n_gen", "n_depth"))
assert len(rows) == 2 * 3 * 2 * 2
assert [key(row) for row in rows] == [key(row) for row in lines] == [key(row) for row in cells]
assert {row["test"] for row in rows} == {"pp9", "pp20", "tg3", "pp9 @ d5", "pp20 @ d5", "tg3 @ d5"}
for row in rows + lines:
    samples = row["samples_ns"]
    assert len(samples) == 2 and min(samples) <= row["median_ns"] <= max(samples), row
    assert row["mean_ns"] > 0 and row["read_bandwidth"] > 0 and row["peak_memory_bytes"] > row["model_bytes"]
    assert 0 < row["load_ms"] < row["first_token_ms"]
    n = row["n_prompt"] + row["n_gen"]
    assert abs(row["median_ts"] - n / (row["median_ns"] / 1e9)) < 1e-3 * row["median_ts"]
    assert row["digest"] is None and row["machine"]["cores"] >= 1
    assert (row["operations_per_second"] is None) == (row["n_gen"] > 0)
    if row["n_prompt"] and row["model"] != "q8.mlb":
        assert row["share_of_limit"] is None
assert sum(line.startswith("| q8.mlb") for line in open("all.md")) == 13
assert [row["test"] for row in json.load(open("partly.json"))] == ["pp4"]
assert json.load(open("none.json")) == []
END
# A path cannot break the table.
odd=$(printf 'a|b\nc\377.mlb'); cp q8.mlb "$odd"
ml-bench "$odd" -p 4 -n 0 -r 1 -t 1 > odd.md
[ "$(grep -c '^| a\\|b\\nc�\.mlb |' odd.md)" -eq 2 ]
