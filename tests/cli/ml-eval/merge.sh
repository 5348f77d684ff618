# --merge sees what is there twice and what is missing, over several sets of texts and over results that were joined before.
story=$ML_TEST_DATA/models/stories260K
for name in a b; do for i in $(seq 9); do echo "Once upon a time there was a $name, and she had $i red balls."; done > $name.txt; done
run() { ml-eval -q "$story" -c 64 --json "$@"; }
for k in 1 2 3; do run a.txt --shard $k/3 > a$k; done
run a.txt > a
run b.txt > b
merge() { ml-eval -q --merge --json "$@"; }
merge a3 a1 a2 | cmp - a
refused() { # STATUS WORD...
  local status=$1 rc=0
  shift
  ml-eval --merge "$@" > out || rc=$?
  [ $rc -eq "$status" ] && [ ! -s out ]
}
# Twice.
refused 1 a1 a1 a2 a3
refused 1 a1 a2 a3 a1
cp a2 again
refused 1 --partial a2 again
refused 1 a a
cat a1 a1 a2 a3 > doubled
refused 1 doubled
run a.txt --shard 1/2 > half
refused 1 a1 half
refused 1 --partial a half
# Missing.
refused 1 a1 a2
refused 1 a2
refused 1 b a1 a3
for k in 1 4; do run a.txt --shard $k/4 > quarter$k; done
refused 1 quarter4
ml-eval --merge --partial a1 a2 --json > two
ml-eval -q --merge --partial a1 --json > one 2> err
[ ! -s err ]
refused 1 two
# Joined before.
merge two a3 | cmp - a
merge --partial a2 one | cmp - two
refused 1 --partial two a2
merge a b > both
merge two b a3 | python3 -c '
import json, sys
one, other = json.load(open("both")), json.load(sys.stdin)
assert sorted(one.pop("texts")) == sorted(other.pop("texts")) and one == other, (one, other)'
refused 1 both b
# The same words in another cut are another set of texts.
run a.txt --windows 1 > short
ml-eval -q --merge a short > out
# Shards beyond the windows are empty, and nobody misses them.
n=$(python3 -c 'import json; print(json.load(open("a"))["n_windows"])')
for k in $(seq "$n"); do run a.txt --shard "$k/20" > "s$k"; done
seq -f s%g "$n" | xargs ml-eval -q --merge --json | cmp - a
seq -f s%g 2 "$n" > names
refused 1 $(cat names)

# Usage.
refused 2
refused 2 --json
rc=0; ml-eval --partial "$story" a.txt || rc=$?
[ $rc -eq 2 ]
rc=0; ml-eval || rc=$?
[ $rc -eq 2 ]
# What no run wrote.
broken() { # PYTHON
  python3 -c '
import json, sys
result = json.load(open("a1"))
parts = result["parts"]
exec(sys.argv[1])
print(json.dumps(result))' "$1" > broken
  refused 1 --partial a2 broken
}
broken 'del result["parts"]'
broken 'result["parts"] = []'
broken 'result["parts"] = 5'
broken 'parts[0] = 5'
broken 'parts[0]["of"] = 5'
broken 'del parts[0]["shard"]'
broken 'parts[0]["n_windows"] = -1'
broken 'parts[0]["shard"] = 0'
broken 'parts[0]["shard"] = 4'
broken 'parts[0]["n_windows"] = 2 ** 64 - 1'
broken 'parts[0]["n_windows"] = 0'
broken 'result["model"] = 5'
broken 'result["against"] = 5'
broken 'result["texts"] = "a"'
broken 'result["texts"][0] = None'
broken 'result["ctx"] = 2 ** 32'
broken 'result["bos"] = 0'
broken 'result["acts"] = None'
broken 'result["kv"] = []'
broken 'result["n_windows"] = 2 ** 64 - 1'
broken 'result["sums"]["nll"][0] = "-1"'
# The same length as before: e^895 is no double.
python3 -c '
import json
result = json.load(open("a1"))
n = result["sums"]["n_tokens"]
result["sums"]["nll"] = [f"{n * 895 << 192:x}", f"{n * 895 ** 2 + 1 << 192:x}"]
print(json.dumps(result))' > bad
ml-eval -q --merge --partial bad --html bad.html | grep -x 'perplexity *inf ± inf'
grep -c 'inf ± inf' bad.html
ml-eval -q --merge --partial bad --json | grep -o '"perplexity":{[^}]*}'
ml-eval -q --merge --partial bad --format csv | tail -n 1 | grep -o ',inf,inf,895.0,'
python3 -c '
import json
result = json.load(open("a1"))
result["parts"] = [{"of": "x", "shard": 2 ** 64 - 1, "n_shards": 2 ** 64 - 1, "n_windows": 2 ** 64 - 1}]
print(json.dumps(result))' > broken
refused 1 broken
# What would cost a program's stack, or the square of its size.
python3 -c 'print("{\"sums\":" + "[" * 3000000 + "]" * 3000000 + "}")' > broken
refused 1 broken
python3 -c 'print("{\"sums\":{" + ",".join(f"\"{i}\":1" for i in range(2000)) + "}}")' > broken
refused 1 broken
echo '{"other": 1}' > broken
refused 1 broken
