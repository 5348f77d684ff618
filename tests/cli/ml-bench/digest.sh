# Digests depend on no target, thread count or batch; reading and writing the same tokens have the same.
mlb-quant -q "$ML_TEST_DATA/models/qwen35-stories" --type q4_0 -o q4.mlb
run() { ml-bench q4.mlb -p 13 -n 13 -r 1 --no-warmup --digest -o jsonl "$@"; }
targets=scalar
for target in avx2 avx512; do
  ml-bench q4.mlb -p 1 -n 0 -r 1 --target "$target" > out 2> err && targets=$targets,$target
done
{ run --target "$targets" -t 1,3; run -b 4; } > rows
[ "$(grep -o '"digest":"[0-9a-f]*"' rows | sort -u | wc -l)" -eq 1 ]
