# --dry-run tells what an evaluation reads and writes, and does neither; -v what was decided.
cp -r "$ML_TEST_DATA/models/stories260K" story
printf 'Once upon a time, there was a little dog. The dog liked to play with a big ball.' > a
cp a b
for bits in 16 32; do
  ml-eval story a b -c 8 --stride 4 --save-logits l.logits --bits $bits --html page.html --dry-run > plan
  [ ! -e l.logits ] && [ ! -e page.html ]
  ml-eval story a b -c 8 --stride 4 --save-logits l.logits --bits $bits --json > done.json
  python3 - <<'END_OF_CHECK'
import json, os, re
plan, done = open("plan").read(), json.load(open("done.json"))
n_texts, n_windows, ctx, stride, n_read, n_scored, n_bytes = map(int, re.fullmatch(
    r"(\d+) texts, (\d+) windows of (\d+) every (\d+): (\d+) tokens to read, (\d+) to score\nlogits: (\d+) bytes\n", plan).groups())
assert (n_texts, ctx, stride) == (2, 8, 4) and n_windows == done["n_windows"] and n_scored == done["n_tokens"] < n_read, (plan, done)
assert n_bytes == os.path.getsize("l.logits"), (plan, os.path.getsize("l.logits"))
END_OF_CHECK
  rm l.logits
done
ml-eval story a -c 512 --dry-run > plan
grep -q '^1 text, 1 window of 512 every 512: [0-9]* tokens to read, [0-9]* to score$' plan
ml-eval story a -v --dry-run --acts f32 > plan 2> said
for wanted in 'story: folder, ' 'tokenizer story.tokenizer.json: beside the model' 'KV cache f32: the default with float32 activations' \
  'windows of [0-9]* tokens: 512'; do
  [ "$(grep -c "^ml-eval: $wanted" said)" = 1 ]
done
rc=0; ml-eval missing a --dry-run 2> /dev/null || rc=$?
[ $rc = 1 ]
