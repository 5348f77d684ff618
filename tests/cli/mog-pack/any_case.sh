# Names of encodings are taken in any case, by --set and in recipes, and written as mog(5) has them.
recipe="$ML_TEST_DATA/../../share/recipes/llama.json"
plan() { mog-pack -q "$@" --root "$ML_TEST_DATA/models/stories260K" --dry-run; }
plan "$recipe" --set '*.q_proj=int4_g32_f16' --set embed=bf16 > small
plan "$recipe" --set '*.q_proj=INT4_G32_F16' --set embed=Bf16 > large
cmp small large
sed 's/"int8_g32_f32"/"Int8_G32_F32"/; s/"f32"/"F32"/' "$recipe" > capitals.json
plan "$recipe" > small
plan capitals.json > large
cmp small large
