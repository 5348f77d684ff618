# Digests do not depend on target, threads or batch; they are the hash of the logits file.
story=$ML_TEST_DATA/models/stories260K
prompt="Once upon a time, there was a little girl named Lily. She loved to play outside in the park."
for type in q8_0 q4_0; do
  mlb-quant -q "$story" --type "$type" -o "$type.mlb"
  for acts in q8 f32; do
    run() { ml-run "$type.mlb" -m "$story/tokenizer.json" --acts "$acts" --digest -n 6 "$@" "$prompt" 2>&1 > /dev/null; }
    run --target scalar -t 1 > expected
    [ "$(grep -c '^digest step ' expected)" -eq 5 ]
    for target in avx2 avxvnni avx512 neon dotprod i8mm; do
      run --target "$target" -n 0 > /dev/null || continue  # not on this machine
      for threads in 1 2 3 7; do run --target "$target" -t "$threads" | cmp - expected; done
      for batch in 1 2 3 17 512; do run --target "$target" -b "$batch" | cmp - expected; done
    done
  done
done
ml-run q8_0.mlb --tokens 1,2,3 -n 0 --logits logits.f32 --digest 2> digest
[ "$(stat -c %s logits.f32)" -eq $((3 * 512 * 4)) ]
if command -v xxh128sum > /dev/null; then
  [ "digest prompt $(xxh128sum < logits.f32 | cut -d' ' -f1)" = "$(cat digest)" ]
fi
ml-run q8_0.mlb --tokens 1,2,3 -n 0 --logits - | cmp - logits.f32
