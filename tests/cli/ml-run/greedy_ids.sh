# The 200 greedy ids of the float32 reference, from the folder as it is.
story=$ML_TEST_DATA/models/stories260K
python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["greedy_200_ids"])' "$story/golden.json" > expected
ml-run "$story" --acts f32 --ids -n 200 "Once upon a time" > got
cmp expected got
