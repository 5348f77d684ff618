# Everything that can go wrong with files: one line, status 1, nothing left behind and nothing changed.
model=$ML_TEST_DATA/models/stories260K
fails() { rc=0; "$@" > out || rc=$?; [ $rc -eq 1 ]; [ ! -s out ]; rm out; }
mkdir work; cd work
fails mlb-quant missing -o a.mlb
mkdir folder; fails mlb-quant folder -o a.mlb; rmdir folder
fails mlb-quant "$model" -o nowhere/a.mlb
fails mlb-quant -q "$model" -o /dev/full
: > empty.mlb; fails mlb-quant empty.mlb -o a.mlb; rm empty.mlb
echo "not a model, but longer than four bytes" > text; fails mlb-quant text -o a.mlb; rm text
[ -z "$(ls -A)" ]
mlb-quant -q "$model" -o a.mlb
before=$(md5sum a.mlb)
fails mlb-quant "$model" -o a.mlb
fails mlb-quant -f a.mlb -o a.mlb
ln a.mlb b.mlb; fails mlb-quant -f a.mlb -o b.mlb; rm b.mlb
fails mlb-quant -f - -o a.mlb < a.mlb
head -c 100000 a.mlb > cut.mlb; fails mlb-quant cut.mlb -o c.mlb; rm cut.mlb
[ "$(md5sum a.mlb)" = "$before" ]
[ "$(ls -A)" = a.mlb ]
rc=0; mlb-quant -q "$model" > /dev/full || rc=$?; [ $rc -eq 1 ]
mkdir copy; cp "$model"/* copy; fails mlb-quant -f copy -o copy/model.safetensors; cmp copy/model.safetensors "$model/model.safetensors"
