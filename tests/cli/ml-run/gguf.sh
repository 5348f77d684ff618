# A .gguf runs as it is, with its own tokenizer, to the bits of the .mlb made from it.
make="python3 $(dirname "$0")/../../formats/make_gguf.py"
$make "$ML_TEST_DATA/models/qwen3-stories" model.gguf --type q8_0 --tokenizer
mlb-quant -q model.gguf -o model.mlb
mlt-pack -q model.gguf -o model.mlt
ml-run model.gguf --digest -n 24 "Once upon a time" > own.txt 2> own.digest
ml-run model.mlb --digest -n 24 "Once upon a time" > mlb.txt 2> mlb.digest
cmp own.txt mlb.txt
cmp own.digest mlb.digest
[ "$(wc -l < own.digest)" -gt 20 ]
$make "$ML_TEST_DATA/models/stories260K" float.gguf --tokenizer
ml-run float.gguf --acts f32 -n 40 "Once upon a time" > gguf.txt
ml-run "$ML_TEST_DATA/models/stories260K" --acts f32 -n 40 "Once upon a time" > folder.txt
cmp gguf.txt folder.txt
# Splits: the first one is named, the others are found.
$make "$ML_TEST_DATA/models/qwen3-stories" split.gguf --type q8_0 --tokenizer --splits 3
ml-run split-00001-of-00003.gguf -n 24 "Once upon a time" > split.txt
cmp own.txt split.txt
rc=0; ml-run split-00002-of-00003.gguf -n 1 x || rc=$?; [ $rc -eq 1 ]
rm split-00003-of-00003.gguf
rc=0; ml-run split-00001-of-00003.gguf -n 1 x || rc=$?; [ $rc -eq 1 ]
