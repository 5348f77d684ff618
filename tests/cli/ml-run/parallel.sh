# The recipe for GNU parallel collects what one run collects, to the same bits each time, also with blanks in names.
command -v parallel > /dev/null || { echo "GNU parallel is not installed"; exit 77; }
recipe=$ML_TEST_DATA/../../share/batches/imatrix-parallel
cp -r "$ML_TEST_DATA/models/stories260K" "a model"
for i in $(seq 40); do echo "Once upon a time there was a girl, and she had $i red balls."; done > "a text"
ml-run -q "a model" -p "a text" --chunk 64 --imatrix one.mli
sh "$recipe" 3 joined.mli "a model" "a text" --chunk 64
python3 "$ML_TEST_DATA/../batches/same_sums.py" one.mli joined.mli
JOBS=1 sh "$recipe" 3 again.mli "a model" "a text" --chunk 64
cmp joined.mli again.mli
[ -z "$(find . -name '*.parts.*')" ]
rc=0; sh "$recipe" 2 none.mli missing.mlb "a text" 2> err || rc=$?
[ $rc -ne 0 ] && [ ! -e none.mli ] && grep -q 'missing.mlb' err && [ -z "$(find . -name '*.parts.*')" ]
