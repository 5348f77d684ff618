# A pipe gets the matrix once, at the end, whatever its name and --save-every.
story=$ML_TEST_DATA/models/stories260K
for i in $(seq 20); do echo "Once upon a time, there was a little girl named Lily. She had $i red balls."; done > text
run() { ml-run -q "$story" -p text --chunk 64 --save-every 1 "$@"; }
run --imatrix whole.mli
for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1; do run --imatrix $name | cmp - whole.mli; done
run --imatrix >(cat > got); wait $!
cmp got whole.mli
run --imatrix /dev/null > out
[ ! -s out ]
# One that has a name is opened once, before the work.
mkfifo named
cat named > got & reader=$!
run --imatrix named
wait $reader
cmp got whole.mli
# None can be gone on from.
rc=0; run --resume --imatrix named 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'named: is no file that --resume can go on from' err
rc=0; run --resume --imatrix /dev/fd/1 2> err | cat > out || rc=$?
[ $rc -eq 2 ] && [ ! -s out ]
