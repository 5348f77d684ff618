rc=0; mlt-pack no-such-file -o out.mlt || rc=$?; [ $rc -eq 1 ]
mkdir empty
rc=0; mlt-pack empty -o out.mlt || rc=$?; [ $rc -eq 1 ]
printf '{"version": "1.0", ' > cut.json
rc=0; mlt-pack cut.json -o out.mlt || rc=$?; [ $rc -eq 1 ]
printf 'GGUF' > model.gguf
rc=0; mlt-pack model.gguf -o out.mlt || rc=$?; [ $rc -eq 1 ]
mlt-pack "$ML_TEST_DATA/models/stories260K" > whole.mlt
head -c 100 whole.mlt > cut.mlt
rc=0; mlt-pack cut.mlt -o out.mlt || rc=$?; [ $rc -eq 1 ]
rc=0; mlt-pack cut.json --max-vocab x || rc=$?; [ $rc -eq 2 ]
rc=0; mlt-pack < /dev/null || rc=$?; [ $rc -eq 1 ]
[ ! -e out.mlt ]
