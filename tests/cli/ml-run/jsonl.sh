# Batches: one object in, one out, in order; each answer as alone, whatever runs beside it.
story=$ML_TEST_DATA/models/stories260K
cat > requests << 'END'
{"prompt": "Once upon a time", "n": 40}
{"prompt": "Lily and Tom", "n": 7, "temp": 1, "seed": 3}
{"tokens": [1, 403, 407, 261, 378], "n": 3}

{"prompt": "The dog", "n": 25, "stop": ["."]}
{"prompt": "One day", "n": 0}
{"prompt": "", "n": 12}
{"prompt": "if (a) { \"[[[{{{{{{{{{", "n": 2}
END
run() { ml-run "$story" --jsonl "$@" < requests; }
run --parallel 1 > one
for parallel in 2 3 64; do run --parallel $parallel | cmp - one; done
run -b 1 | cmp - one
run -t 1 --target scalar | cmp - one
python3 - << 'END'
import json, subprocess, os
story = os.environ["ML_TEST_DATA"] + "/models/stories260K"
def alone(*options):
    return subprocess.run(["ml-run", story, *options], stdin=subprocess.DEVNULL, capture_output=True, check=True, text=True).stdout[:-1]
answers = [json.loads(line) for line in open("one")]
assert [a["finish"] for a in answers] == ["length", "length", "length", "stop", "length", "length", "length"], answers
assert answers[0]["text"] == alone("-n", "40", "Once upon a time")
assert answers[1]["text"] == alone("-n", "7", "--temp", "1", "--seed", "3", "Lily and Tom")
assert answers[3]["text"] == alone("-n", "25", "--stop", ".", "The dog")
assert answers[4]["text"] == "" and answers[4]["n"] == 0
assert answers[5]["text"] == alone("-n", "12", "")
assert answers[6]["text"] == alone("-n", "2", "if (a) { \"[[[{{{{{{{{{")
END
