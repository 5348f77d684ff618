# The result depends on no target, thread count or batch, and parts join to the whole, in any order.
story=$ML_TEST_DATA/models/qwen35-stories
for i in 1 2 3 4 5 6; do printf 'Once upon a time there was a cat. It had %s toys and a friend named Tom.\n\n' "$i"; done > text
mlb-quant -q "$story" --type q4_0 -o q4.mlb
run() { ml-eval q4.mlb -m "$story/tokenizer.json" text --split '\n\n' -c 12 --stride 7 --against "$story" --json "$@"; }
run --target scalar -t 1 > expected
for target in avx2 avx512; do
  run --target "$target" > out 2> err || { grep -q ML_E_UNSUPPORTED err; continue; }
  cmp out expected
done
run -t 3 -b 5 | cmp - expected
run -b 1 | cmp - expected
for k in 1 2 3; do run --shard "$k/3" > "part$k.json"; done
ml-eval --merge --json part2.json part3.json part1.json > merged
cat part1.json part3.json part2.json | ml-eval --merge --json - | cmp - merged
python3 - <<'END'
import json
one, many = json.load(open("expected")), json.load(open("merged"))
assert one == many, [key for key in one if one[key] != many.get(key)]
END
ml-eval --merge part1.json part2.json part3.json > text1
run > /dev/null
ml-eval q4.mlb -m "$story/tokenizer.json" text --split '\n\n' -c 12 --stride 7 --against "$story" | cmp - text1
# A tab between the texts says the same as blank lines.
python3 -c 'import sys; sys.stdout.write(open("text").read().replace("\n\n", "\t"))' > tabs
ml-eval "$story" text --split '\n\n' -c 12 | sed 1d > lines1
ml-eval "$story" tabs --split '\t' -c 12 | sed 1d | cmp - lines1
