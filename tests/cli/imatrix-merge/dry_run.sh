# --dry-run adds, tells the size, and writes nothing.
make="python3 $ML_TEST_DATA/../cli/imatrix-merge/make_mli.py"
$make a.mli; $make b.mli tokens=6; $make layers.mli n_layers=2
imatrix-merge a.mli b.mli -o all.mli --dry-run > plan
[ ! -e all.mli ]
imatrix-merge -q a.mli b.mli -o all.mli
[ "$(cat plan)" = "file: $(stat -c %s all.mli) bytes; 10 tokens of 2 files" ]
rc=0; imatrix-merge a.mli layers.mli --dry-run 2> /dev/null || rc=$?
[ $rc = 1 ]
rc=0; imatrix-merge a.mli --dry-run --stats 2> /dev/null || rc=$?
[ $rc = 2 ]
