# An importance matrix changes what is found, and belongs to its model.
model=$ML_TEST_DATA/models/stories260K
echo "Once upon a time there was a little girl who liked to play in the park." > text
ml-run -q "$model" --imatrix model.mli -p text
seed-pack -q --encoding seed4 "$model" -o plain
seed-pack -q --encoding seed4 --imatrix model.mli "$model" -o weighted
if cmp -s plain/model-00001-of-00001.safetensors weighted/model-00001-of-00001.safetensors; then exit 1; fi
rc=0; seed-pack -q --imatrix model.mli "$ML_TEST_DATA/oracle/llama2-mha" -o other || rc=$?; [ $rc -eq 1 ]; [ ! -e other ]
