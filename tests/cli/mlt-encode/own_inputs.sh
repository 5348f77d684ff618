# No file of the tokenizer is replaced, also where a folder stands for it.
cp -r "$ML_TEST_DATA/models/qwen3-stories" model
chmod -R u+w model
echo 'Once upon a time' > text
before=$(md5sum model/* text)
refused() { rc=0; mlt-encode -f "$@" text || rc=$?; [ $rc -eq 1 ]; }
for name in tokenizer.json config.json model.safetensors; do refused -m model -o model/$name; done
refused -m model/tokenizer.json -o model/config.json
refused -m model -o text
[ "$(md5sum model/* text)" = "$before" ]
# An option whose value is empty does not take the operand for one.
rc=0; mlt-encode -f -m model --output= text || rc=$?
[ $rc -eq 2 ]
[ "$(md5sum model/* text)" = "$before" ]
