# What a token says cannot drive the terminal; pipes and files get its bytes.
command -v script > /dev/null || { echo "no script(1)"; exit 77; }
python3 - "$ML_TEST_DATA/models/stories260K/tokenizer.json" <<'P'
import json, sys
document = json.load(open(sys.argv[1]))
document["added_tokens"].append({"id": 512, "content": "\x1b]0;owned\x07\x1b[2J\x9b", "special": False, "normalized": False,
    "single_word": False, "lstrip": False, "rstrip": False})
json.dump(document, open("tokenizer.json", "w"))
P
printf 'Lily é\n\x1b]0;owned\x07\x1b[2J\xc2\x9b' > text
mlt-encode -m tokenizer.json text > ids
grep -q 512 ids
mlt-encode -m tokenizer.json -d ids > back
cmp text back
mlt-encode -m tokenizer.json -d ids -o file
cmp text file
script -qec "mlt-encode -m tokenizer.json -d ids" -O typescript > /dev/null
python3 - <<'P'
shown = open("typescript", "rb").read()
assert rb"Lily " + "é".encode() + b"\r\n" + rb"\x1b]0;owned\x07\x1b[2J\u009b" in shown, shown
assert not set(shown) & set(b"\x07\x1b"), shown
P
