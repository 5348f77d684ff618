# The gate of share/gates: writes, accepts, and refuses another model.
gate=$ML_TEST_DATA/../../share/gates/digest-gate
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" --type q8_0 -o q8.mlb
mlb-quant -q "$story" --type q4_0 -o q4.mlb
sh "$gate" q8.mlb digests.txt
grep -q '^digest step 3 ' digests.txt
cp digests.txt before.txt
sh "$gate" q8.mlb digests.txt
rc=0; sh "$gate" q4.mlb digests.txt 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'computes other numbers' err
cmp before.txt digests.txt
rc=0; sh "$gate" missing.mlb new.txt 2> err || rc=$?
[ $rc -eq 1 ] && [ ! -e new.txt ] && grep -q 'cannot open' err
