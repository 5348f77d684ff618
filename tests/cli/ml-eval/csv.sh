# --format csv: the numbers of --json as a line, or a line for each window or range of positions.
cp -r "$ML_TEST_DATA/models/stories260K" story
printf 'Once upon a time, there was a little dog. The dog liked to play with a big ball.' > 'a, "b"'
mlb-quant -q story --type q4_0 -o q4.mlb
evaluate() { ml-eval q4.mlb -m story/tokenizer.json 'a, "b"' -c 8 --against story "$@"; }
evaluate --json --by-window --by-position > all.json
evaluate --format csv > one.csv
evaluate --format csv --by-window > windows.csv
evaluate --format csv --by-position > positions.csv
evaluate --format json > plain.json
evaluate --json | cmp - plain.json
ml-eval --merge plain.json --format csv | cmp - one.csv
python3 - <<'END_OF_CHECK'
import csv, json
def rows(name):
    return list(csv.DictReader(open(name, newline="")))
result = json.load(open("all.json"))
[one] = rows("one.csv")
assert one["model"] == "q4.mlb" and one["against"] == "story" and "texts" not in one and not any("sums" in name for name in one)
assert float(one["kl_mean"]) == result["kl"]["mean"] and float(one["perplexity_error"]) == result["perplexity"]["error"]
for name, key in (("windows.csv", "by_window"), ("positions.csv", "by_position")):
    table, objects = rows(name), result[key]
    assert len(table) == len(objects) > 2
    for line, item in zip(table, objects):
        assert {k: str(v) for k, v in item.items() if not isinstance(v, (float, dict))}.items() <= line.items(), (line, item)
        assert float(line["nll"]) == item["nll"]
assert rows("windows.csv")[0]["text"] == 'a, "b"'
END_OF_CHECK
rc=0; evaluate --format csv --by-window --by-position || rc=$?
[ $rc = 2 ]
