# llama-bench's spelling: models by -m, in their order, before the operands.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" --type q8_0 -o q8.mlb
mlb-quant -q "$story" --type q4_0 -o q4.mlb
ml-bench -m q8.mlb -m q4.mlb -p 4 -n 2 -r 1 -t 1 -o jsonl > rows.jsonl
python3 - <<'END'
import json
rows = [json.loads(line) for line in open("rows.jsonl")]
assert [(row["model"], row["test"]) for row in rows] == [(model, test) for model in ("q8.mlb", "q4.mlb") for test in ("pp4", "tg2")], rows
END
ml-bench -m q8.mlb q4.mlb -p 4 -n 0 -r 1 --output csv > rows.csv
[ "$(wc -l < rows.csv)" -eq 3 ]
