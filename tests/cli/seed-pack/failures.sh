# Everything that can go wrong with files: one line, status 1, nothing left behind and nothing changed.
model=$ML_TEST_DATA/models/stories260K
fails() { rc=0; "$@" > out 2>> ../messages || rc=$?; [ $rc -eq 1 ]; [ ! -s out ]; rm out; }
mkdir work; cd work
pack="seed-pack -q --encoding q4"
fails $pack missing -o a
mkdir folder; fails $pack folder -o a; rmdir folder
fails $pack "$model" -o nowhere/a
fails $pack "$model" --rule nothing=q8 -o a
fails $pack "$model" --loader missing.py -o a
for name in config.json tokenizer.json model.safetensors.index.json x.safetensors; do
  fails $pack missing --loader "nowhere/$name" -o a
done
fails $pack --encoding seed4 "$model" --imatrix missing -o a
echo text > text; fails $pack text -o a; rm text
[ -z "$(ls -A)" ]
$pack "$model" -o a
before=$(cat a/* | md5sum)
fails $pack "$model" -o a
fails $pack -f a -o a
[ "$(cat a/* | md5sum)" = "$before" ]
# The model by other names: links into the folder, a link to one of its files, the loader.
mkdir links; for file in a/*; do ln -s "../$file" links/; done; fails $pack -f links -o a; fails $pack -f --dry-run links -o a
rm links/*; ln -s "$model"/config.json links/; ln a/model-00001-of-00001.safetensors links/; fails $pack -f links -o a
rm links/*; cp "$model"/config.json links/; cp a/*.safetensors links/; ln -s ../a/tokenizer.json links/; fails $pack -f links -o a
echo pass > a/x.py; fails $pack -f "$model" --loader a/x.py -o a; rm -r a/x.py links
[ "$(cat a/* | md5sum)" = "$before" ]
for work in "$model" new new/work; do fails $pack "$model" -o new --work $work; done
mkdir other; echo x > other/x; fails $pack -f "$model" -o other; [ "$(cat other/x)" = x ]; rm -r other
$pack -f --encoding q8 "$model" -o a
[ "$(ls -A)" = a ]
echo mine > a/train.py; fails $pack -f "$model" -o a; [ "$(cat a/train.py)" = mine ]; rm a/train.py
before=$(cat a/* | md5sum)
ln -s a link; fails $pack "$model" -o link; $pack -f "$model" -o link
[ -L link ]; [ "$(cat a/* | md5sum)" != "$before" ]; rm link
ln -s new link; $pack "$model" -o link; [ -L link ]; cmp new/config.json a/config.json; rm -r new link
[ "$(ls -A)" = a ]
cp -r a b; head -c 100000 a/model-00001-of-00001.safetensors > b/model-00001-of-00001.safetensors
fails $pack b -o c
python3 - << 'END'
import json, struct
# One weight that is not finite, in a single file.
header = json.dumps({"a.weight": {"dtype": "F32", "shape": [2, 64], "data_offsets": [0, 512]}}).encode()
with open("nan.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + struct.pack("<128f", *([1.0] * 70 + [float("nan")] + [1.0] * 57)))
END
fails $pack nan.safetensors -o c.safetensors
rm -r b nan.safetensors
[ "$(ls -A)" = a ]
cat ../messages
