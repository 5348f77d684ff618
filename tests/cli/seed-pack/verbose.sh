# -v says of each tensor what it becomes, and by which rule.
seed-pack -v "$ML_TEST_DATA/models/stories260K" -o packed --encoding q8 --rule '*.q_proj.weight=q4' --dry-run > plan 2> said
[ ! -e packed ]
grep -q '^seed-pack: model.layers.0.self_attn.q_proj.weight: F32 -> q4g64, as --rule \*.q_proj.weight=q4 says$' said
grep -q '^seed-pack: model.layers.0.self_attn.k_proj.weight: F32 -> q8g64$' said
