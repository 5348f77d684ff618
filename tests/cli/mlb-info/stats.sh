# The numbers do not depend on the number of threads.
mlb-info --stats -t 1 "$ML_TEST_DATA/models/stories260K" > one
for threads in 2 3 7; do
  mlb-info --stats -t $threads "$ML_TEST_DATA/models/stories260K" | cmp - one
done
grep -E 'NAME|embed_tokens|layers.0.input_layernorm' one
