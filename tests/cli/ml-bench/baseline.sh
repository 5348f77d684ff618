# A baseline: equal speed passes, a much faster one fails, another digest fails, other machines are not compared.
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
edit 'row["samples_ns"] = [x / 1000 for x in [5e6, 5e6, 5e6]]; row["median_ns"] = 5e3; row["read_bandwidth"] = 1; row["int8_peak"] = 1' json > fast.json
rc=0; run --baseline fast.json --fail-above 10 > out 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'pp8, 1 threads, .* slower than the baseline, noise .*, 10 % allowed (ML_E_LIMIT)' err
run --baseline fast.json --fail-above 1e15 > out 2> err
[ "$(grep -c 'slower than the baseline, noise' err)" -eq 2 ]
run --baseline fast.json -q > out 2> err
[ ! -s err ]
edit 'row["digest"] = "0" * 32' jsonl > digest.jsonl
rc=0; run --baseline digest.jsonl > out 2> err || rc=$?
[ $rc -eq 1 ] && [ "$(grep -c 'logits have the digest .*, but 0000.* in the baseline (ML_E_ARG)' err)" -eq 2 ]
edit 'row["machine"]["cpu"] = "Abacus"' json > other.json
run --baseline other.json --fail-above 0 > out 2> err
[ "$(grep -c 'not compared: the baseline is of another machine (Abacus)' err)" -eq 2 ]
edit 'row["threads"] = 77' json > none.json
run --baseline none.json --fail-above 0 > out 2> err
[ "$(grep -c 'not in the baseline' err)" -eq 2 ]
ml-bench "$story" -p 8 -n 0 -r 1 -t 1 --baseline base.json --fail-above 0 > out 2> err
grep -q 'not compared: noise needs 3 repetitions' err
