# llama.cpp's matrix in GGUF form is an input like others: what it lacks is said, quantizing with it is as with the MLI1
# made of it, and damage is refused by name.
im=$ML_TEST_DATA/imatrix/stories260K.gguf
story=$ML_TEST_DATA/models/stories260K
cp "$im" im.gguf
imatrix-merge im.gguf -o a.mli
mlb-info --check a.mli > said
grep -q 'check: sound' said
imatrix-merge -q - < im.gguf | cmp - a.mli
ml-run -q "$story" --chunk 16 --tokens 1,2,3,4,5,6,7,8,9 --imatrix own.mli
imatrix-merge -q own.mli im.gguf -o one.mli
imatrix-merge -q im.gguf own.mli | cmp - one.mli
mlb-quant "$story" --type q4_0 --imatrix im.gguf -o gguf.mlb 2> notes
sed 's/[0-9.]* s$/TIME/' notes >&2
mlb-quant -q "$story" --type q4_0 --imatrix a.mli | cmp - gguf.mlb
mlb-info --check im.gguf | grep -v imatrix.datasets
rc=0; mlb-info "$im" -q --json > info.json || rc=$?
python3 -c 'import json; r = json.load(open("info.json")); assert r["format"] == "gguf" and "classifier" in r["note"]'
[ $rc -eq 0 ]
try() { local rc=0; "$@" < /dev/null || rc=$?; [ "$rc" -eq 1 ]; }
try ml-run im.gguf Once
try ml-run "$story" -q --tokens 1,2,3 --imatrix im.gguf --resume
cmp im.gguf "$im"
python3 - << 'END'
import struct
good = open("im.gguf", "rb").read()
at = good.index(struct.pack("<f", 3855.99609375))
open("nan.gguf", "wb").write(good[:at] + struct.pack("<f", float("nan")) + good[at + 4:])
open("cut.gguf", "wb").write(good[:-100])
open("counts.gguf", "wb").write(good.replace(b"blk.0.attn_k.weight.counts", b"blk.0.attn_k.weight.county", 1))
open("type.gguf", "wb").write(good.replace(b"imatrix", b"imatriX", 1))
open("old.dat", "wb").write(struct.pack("<II", 35, 19) + b"blk.0.attn_k.weight" + bytes(100))
END
for file in nan.gguf cut.gguf counts.gguf type.gguf old.dat "$story/../../imatrix"; do try imatrix-merge "$file" -o bad.mli; done
try mlb-quant "$story" --type q4_0 --imatrix nan.gguf -o bad.mlb
[ ! -e bad.mli ] && [ ! -e bad.mlb ]
