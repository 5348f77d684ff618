# From a checkpoint to text; the prompt as operand, file and standard input.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" --type q8_0 -o story.mlb
mlt-pack -q "$story" -o story.mlt
ml-run story.mlb -n 12 "Once upon a time" | tee operand
printf 'Once upon a time\n' > prompt
ml-run story.mlb -n 12 -p prompt | cmp - operand
ml-run story.mlb -n 12 < prompt | cmp - operand
ml-run story.mlb -n 12 Once upon a time | cmp - operand
ml-run story.mlb -m story.mlt -n 12 --tokens 1,403,407,261,378 | cmp - operand
ml-run story.mlb --echo -n 20 ""
