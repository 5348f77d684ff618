# The tokenizer of a .gguf gives the ids of its tokenizer.json, and encodes without being packed, too.
make="python3 $(dirname "$0")/../../formats/make_gguf.py"
$make "$ML_TEST_DATA/models/stories260K" model.gguf --tokenizer
mlt-pack model.gguf -o own.mlt
mlt-pack "$ML_TEST_DATA/models/stories260K" -o json.mlt
printf 'Once upon a time,  there was\n\ta girl \360\237\214\215.' > text
mlt-encode -m own.mlt text > own.ids
mlt-encode -m json.mlt text > json.ids
mlt-encode -m model.gguf text > gguf.ids
cmp own.ids json.ids
cmp own.ids gguf.ids
mlt-encode -m own.mlt -d own.ids | cmp - text
$make "$ML_TEST_DATA/oracle/llama2-mha" none.gguf
rc=0; mlt-pack none.gguf -o none.mlt || rc=$?; [ $rc -eq 1 ]
