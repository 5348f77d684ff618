# One clear line and status 1 for what cannot be added, 2 for what cannot be meant; nothing is left or changed.
make="python3 $ML_TEST_DATA/../cli/imatrix-merge/make_mli.py"
$make a.mli; $make layers.mli n_layers=2; $make dim.mli dim=64; $make hidden.mli hidden_dim=32; $make q.mli q_dim=64
$make negative.mli first=-1; $make nan.mli first=nan; $make none.mli tokens=0
head -c 1000 a.mli > cut.mli
try() { local rc=0; imatrix-merge "$@" < /dev/null > out || rc=$?; [ ! -s out ]; echo "$rc"; }
try missing.mli
try -
try "$ML_TEST_DATA/models/stories260K/tokenizer.json"
for file in layers dim hidden q negative nan none cut; do try a.mli $file.mli -o out.mli; done
cp a.mli before
try a.mli a.mli -o a.mli
try -f layers.mli a.mli -o b.mli
try -f a.mli -o a.mli
try a.mli -o nowhere/b.mli
try -q a.mli -o /dev/full
try a.mli --stats -o -
try a.mli -o b.mli --map --format csv
try - - -o b.mli
cmp a.mli before
[ ! -e out.mli ] && [ ! -e b.mli ]
