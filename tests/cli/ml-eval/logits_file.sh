# A saved base says the same as the model itself; 32 bits say it to the bit. Damage and other texts are refused.
story=$ML_TEST_DATA/models/stories260K
printf 'Once upon a time, there was a little dog. The dog liked to play with a big ball in the sun.' > text
mlb-quant -q "$story" --type q4_0 -o q4.mlb
run() { ml-eval "$@" -c 20; }
run "$story" text --save-logits base16 > first
run "$story" text --save-logits base32 --bits 32 | cmp - first
run q4.mlb -m "$story/tokenizer.json" text --against "$story" --json > model.json
for bits in 16 32; do run q4.mlb -m "$story/tokenizer.json" text --against base$bits --json > base$bits.json; done
run "$story" text --against base32 --json > self32.json
run "$story" text --against base16 --json > self16.json
# A pipe is read once, whichever of the two it holds.
name_of() { sed 's/"against":"[^"]*"/"against":""/' "$1"; }
piped() { run q4.mlb -m "$story/tokenizer.json" text --json "$@" > piped.json; }
mlb-quant -q "$story" --type q8_0 -o q8.mlb
run q4.mlb -m "$story/tokenizer.json" text --against q8.mlb --json > q8.json
piped --against <(cat base16); cmp <(name_of piped.json) <(name_of base16.json)
cat base32 | piped --against -; cmp <(name_of piped.json) <(name_of base32.json)
piped --against - < base32; cmp <(name_of piped.json) <(name_of base32.json)
piped --against <(cat q8.mlb); cmp <(name_of piped.json) <(name_of q8.json)
cat q8.mlb | piped --against -; cmp <(name_of piped.json) <(name_of q8.json)
mkfifo fifo; cat base16 > fifo & piped --against fifo; cmp <(name_of piped.json) <(name_of base16.json)
wait
python3 - <<'END'
import json
model, base16, base32, self16, self32 = (json.load(open(name + ".json")) for name in ("model", "base16", "base32", "self16", "self32"))
for one in (model, base16, base32):
    del one["against"]
assert base32 == model
assert abs(base16["kl"]["mean"] - model["kl"]["mean"]) < 1e-4 * model["kl"]["mean"]
for key in ("base_perplexity", "perplexity_ratio", "top1_agreement", "top5_agreement", "probability_change"):
    assert base16[key] == model[key], key
assert self32["kl"]["max"] == 0 and self32["perplexity_ratio"]["mean"] == 1
assert 0 <= self16["kl"]["max"] < 1e-6, self16["kl"]
END
python3 -c '
data = bytearray(open("base16", "rb").read())
data[3000] ^= 1
open("damaged", "wb").write(data)
open("short", "wb").write(data[:-1])'
printf 'Another text of some words.' > other
try() { local rc=0; run "$@" > out || rc=$?; [ $rc -eq 1 ] && [ ! -s out ]; }
try "$story" text --against damaged
try "$story" text --against short
try "$story" text --against <(head -c 3000 base16)
try "$story" text --against <(echo no model)
try "$story" text --against <(cat base16 /dev/zero)
try "$story" other --against base16
try "$story" text --stride 10 --against base16
try "$ML_TEST_DATA/oracle/llama2-mha" -m "$story/tokenizer.json" text --against base16
try "$story" text --save-logits base16
try "$story" text --save-logits text -f
printf 'Once upon a time, there was a little dog. The dog liked to play with a big ball in the rain.' > other
try "$story" other --against base16
python3 "$(dirname "$0")/../../formats/make_gguf.py" "$story" split.gguf --tokenizer --splits 2
cp split-00002-of-00002.gguf kept
try split-00001-of-00002.gguf text --save-logits split-00002-of-00002.gguf -f
cmp split-00002-of-00002.gguf kept
