# --logits -f replaces none of the files that the run reads.
cp -r "$ML_TEST_DATA/models/stories260K" m
chmod -R u+w m
cp m/tokenizer.json t.json
echo Once > p.txt
try() { local rc=0; ml-run m -n 0 -f "$@" || rc=$?; [ $rc -eq 1 ]; }
for file in m/model.safetensors m/config.json m/tokenizer.json; do try --logits $file Once; done
try -m t.json --logits t.json Once
try -p p.txt --logits p.txt
try --logits p.txt < p.txt
cmp -s m/model.safetensors "$ML_TEST_DATA/models/stories260K/model.safetensors"
[ "$(cat p.txt)" = Once ]
python3 "$(dirname "$0")/../../formats/make_gguf.py" "$ML_TEST_DATA/models/stories260K" split.gguf --tokenizer --splits 2
before=$(md5sum split-*)
for option in --logits --imatrix; do
  rc=0; ml-run split-00001-of-00002.gguf -n 0 -f $option split-00002-of-00002.gguf Once || rc=$?; [ $rc -eq 1 ]
done
[ "$(md5sum split-*)" = "$before" ]
