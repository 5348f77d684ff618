# A baseline: equal speed passes, a much faster one fails, and so does another digest.
story=$ML_TEST_DATA/models/stories260K
run() { ml-bench "$story" -p 8 -n 2 -r 3 --digest -t 1 "$@"; }
run -o json > base.json
edit() { python3 -c '
import json, sys
rows = json.load(open("base.json"))
for row in rows:
    exec(sys.argv[1])
print(json.dumps(rows) if sys.argv[2] == "json" else "\n".join(map(json.dumps, rows)))' "$1" "$2"; }
# Times a thousand times shorter: no noise explains that. Its probes are those of today.
fast='row["samples_ns"] = [x / 1000 for x in [5e6, 5e6, 5e6]]; row["median_ns"] = 5e3; row["read_bandwidth"] = 1; row["int8_peak"] = 1'
edit "$fast" json > fast.json
rc=0; run --baseline fast.json --fail-above 10 > out 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'pp8, 1 threads, .* slower than the baseline, noise .*, 10 % allowed (ML_E_LIMIT)' err
run --baseline fast.json --fail-above 1e15 > out 2> err
[ "$(grep -c 'slower than the baseline, noise' err)" -eq 2 ]
run --baseline fast.json -q > out 2> err
[ ! -s err ]
edit 'row["digest"] = "0" * 32' jsonl > digest.jsonl
rc=0; run --baseline digest.jsonl > out 2> err || rc=$?
[ $rc -eq 1 ] && [ "$(grep -c 'logits have the digest .*, but 0000.* in the baseline (ML_E_ARG)' err)" -eq 2 ]
# Rows of several machines: each finds its own, wherever it stands.
edit "$fast; row['machine']['cpu'] = 'Abacus'; row['digest'] = None" jsonl > two.jsonl
edit '' jsonl >> two.jsonl
run --baseline two.jsonl --fail-above 1e15 > out 2> err
[ "$(grep -c 'than the baseline, noise' err)" -eq 2 ]
edit 'row["machine"]["cpu"] = 5' json > odd.json
rc=0; run --baseline odd.json > out 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'odd.json: is no result of ml-bench --format json: cpu must be a text (ML_E_FORMAT)' err
