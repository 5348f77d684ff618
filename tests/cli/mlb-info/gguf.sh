# A .gguf: the model in words, its metadata with arrays cut short, tensors in their own types, differences.
make="python3 $(dirname "$0")/../../formats/make_gguf.py"
$make "$ML_TEST_DATA/models/stories260K" model.gguf --type q8_0 --tokenizer
$make "$ML_TEST_DATA/models/stories260K" float.gguf --tokenizer
mlb-info --check --header --tensors model.gguf
mlb-info --json --stats --hash model.gguf > report.json
python3 - <<'END'
import json
with open('report.json') as file:
    report = json.load(file)
assert report['format'] == 'gguf'
assert report['fields']['llama.block_count'] == 5
assert report['model']['dim'] == 64
assert all('stats' in tensor and len(tensor['xxh3_128']) == 32 for tensor in report['tensors'])
END
rc=0; mlb-info --diff model.gguf float.gguf > diff.txt || rc=$?; [ $rc -eq 1 ]
grep -c 'rms of the weights' diff.txt
mlb-info --diff model.gguf model.gguf
head -c 300000 model.gguf > cut.gguf
rc=0; mlb-info cut.gguf || rc=$?; [ $rc -eq 1 ]
