mog-pack "$ML_TEST_DATA/../../share/recipes/qwen3.json" --root "$ML_TEST_DATA/oracle/qwen3-headdim" --dry-run \
  --set '*_proj=int4_g32_f16' --set 'layers.0.q_proj=int8r16_g64_f32' -o model.mog >table
sed -n '1,5p;$p' table
[ "$(wc -l <table)" = 27 ]
[ ! -e model.mog ]
mog-pack "$ML_TEST_DATA/../../share/recipes/qwen3.json" --root "$ML_TEST_DATA/oracle/qwen3-headdim" --dry-run --json |
  python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["architecture"], report["bytes"], len(report["tensors"]), report["output"], report["tensors"][0]["shape"])'
