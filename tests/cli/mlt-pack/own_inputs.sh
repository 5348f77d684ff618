# No file that the tokenizer comes from is replaced, also none that lies beside it.
cp -r "$ML_TEST_DATA/models/qwen3-stories" model
chmod -R u+w model
python3 "$(dirname "$0")/../../formats/make_gguf.py" "$ML_TEST_DATA/models/qwen3-stories" split.gguf --tokenizer --splits 2
touch model/other.mlt
before=$(md5sum model/* split-*)
refused() { rc=0; mlt-pack -f "$@" || rc=$?; [ $rc -eq 1 ]; }
refused model -o model/config.json
refused model/tokenizer.json -o model/config.json
refused model/tokenizer.json -o model/tokenizer.json
refused split-00001-of-00002.gguf -o split-00002-of-00002.gguf
[ "$(md5sum model/* split-*)" = "$before" ]
# Others may be.
mlt-pack -f model/tokenizer.json -o model/other.mlt
[ -s model/other.mlt ]
