# No operand and "-" read standard input, whatever it is.
here=$(dirname "$0")
python3 "$here/make_mlb.py" a.mlb
python3 "$here/make_mlt.py" a.mlt
cat a.mlb | mlb-info --check > from_pipe
sed 's/^-:/a.mlb:/' from_pipe > renamed
mlb-info --check a.mlb | cmp - renamed
cat a.mlt | mlb-info - | sed -n 1p
mlb-info < "$ML_TEST_DATA/models/stories260K/model.safetensors" | sed -n 1p
mlb-info <(cat a.mlb) | grep -c 'bits a weight'
# Messages name it, and a file without a name.
rc=0; printf 'no known format' | mlb-info || rc=$?
[ $rc -eq 1 ]
rc=0; mlb-info "" || rc=$?
[ $rc -eq 1 ]
