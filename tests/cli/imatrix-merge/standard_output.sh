# What is shown and the matrix do not share standard output, by whatever name it goes.
python3 "$ML_TEST_DATA/../cli/imatrix-merge/make_mli.py" a.mli
imatrix-merge -q a.mli -o whole.mli
for output in - /dev/stdout /dev/fd/1 /proc/self/fd/1 /proc/thread-self/fd/1; do
  imatrix-merge -q a.mli -o "$output" | cmp - whole.mli
  rc=0; imatrix-merge --json a.mli -o "$output" 2> err | cat > out || rc=$?
  [ $rc -eq 2 ] && [ ! -s out ]
  grep -q 'needs -o FILE' err
done
imatrix-merge -q a.mli | cmp - whole.mli
