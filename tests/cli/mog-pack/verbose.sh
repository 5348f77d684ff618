# -v says of each tensor whether the recipe or --set chose its encoding.
story=$ML_TEST_DATA/models/stories260K
recipe=$ML_TEST_DATA/../../share/recipes/llama.json
mog-pack -v "$recipe" --root "$story" --dry-run --set 'layers.*=int8_g32_f16' --set 'layers.0.q_proj=int4_g32_f16' > plan 2> said
grep -q '^mog-pack: layers.0.q_proj: int4_g32_f16, as --set layers.0.q_proj=int4_g32_f16 says$' said
grep -q '^mog-pack: layers.1.q_proj: int8_g32_f16, as --set layers.\*=int8_g32_f16 says$' said
grep -q '^mog-pack: embed: .*, as the recipe says$' said
mog-pack "$recipe" --root "$story" --dry-run 2> short > plan
if grep -q 'as the recipe says' short; then exit 1; fi
