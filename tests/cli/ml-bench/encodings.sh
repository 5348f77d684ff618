# One checkpoint in several encodings: a table, its columns, mistakes by name, and nothing left behind.
story=$ML_TEST_DATA/models/stories260K
recipe=$ML_TEST_DATA/../../share/recipes/llama.json
mkdir tmp; export TMPDIR=$PWD/tmp
printf 'Once upon a time, there was a little dog. The dog liked to play.\tTom had a red car.' > text
run() { ml-bench -q --encodings "$recipe" "$@" "$story" -p 8 -n 4 -r 1 -t 1; }
run f32,int8_g32_f32,int4_g32_f16+embed=int8_g32_f32 --text text --split '\t' -o csv > out.csv
run recipe,f32 -o json > out.json
run recipe,f32 --json > out.jsonl
run recipe --text text > out.md
python3 - <<'END'
import csv, json
rows = list(csv.DictReader(open("out.csv")))
assert [row["encoding"] for row in rows] == ["f32", "int8_g32_f32", "int4_g32_f16+embed=int8_g32_f32"]
assert [float(row["bits_per_weight"]) for row in rows] == sorted((float(row["bits_per_weight"]) for row in rows), reverse=True)
for name in ("bytes", "prefill_median_ts", "decode_median_ts", "perplexity_mean", "perplexity_error"):
    assert all(float(row[name]) > 0 for row in rows), name
kl = [float(row["kl_mean"]) for row in rows]
assert kl[0] == 0 < kl[1] < kl[2], kl
assert float(rows[0]["top1_agreement"]) == 1
plain = json.load(open("out.json"))
assert [row["encoding"] for row in plain] == ["recipe", "f32"] and plain[0]["kl"]["mean"] is None
assert len([json.loads(line) for line in open("out.jsonl")]) == 2
assert sum(line.startswith("|") for line in open("out.md")) == 3
END
try() { local rc=0; "$@" > out 2>> err < /dev/null || rc=$?; [ ! -s out ]; echo "$rc"; }
try run f32,int9
try run f32,,int8_g32_f32
try run f32,f32
try run f32,nothing.*=f32
try run f32,int4_g128_f32
try run f32 --text missing
try run f32 --digest
try run f32 -d 0,1
try ml-bench --encodings missing.json f32 "$story"
try ml-bench model.mlb --text text
grep -q "'int9' of 'int9' must be ENCODING" err
grep -q 'must be a multiple of 128 for int4_g128_f32 (encoding int4_g128_f32)' err
grep -q 'missing: cannot open' err
mkdir alone
cp "$recipe" alone/recipe.json
rc=0; ml-bench --encodings alone/recipe.json f32 2> err || rc=$?
[ $rc -eq 1 ]
grep -q "cannot open: No such file or directory; the operand names the checkpoint's folder" err
python3 - "$recipe" "$story" <<'END'
import os, signal, subprocess, sys, time
process = subprocess.Popen(["ml-bench", "-q", "--encodings", sys.argv[1], "f32,recipe", sys.argv[2], "-r", "100000", "-t", "1"])
while not os.listdir("tmp"):
    assert process.poll() is None
    time.sleep(0.002)
process.send_signal(signal.SIGINT)
assert process.wait() == -signal.SIGINT, process.returncode
END
[ -z "$(ls -A tmp)" ]
