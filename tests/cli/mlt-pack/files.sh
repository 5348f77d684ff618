# A file, a folder, a pipe and a .mlt give the same bytes.
folder=$ML_TEST_DATA/tokenizers/l3_nfc
mlt-pack "$folder" -o a.mlt
mlt-pack "$folder/tokenizer.json" > b.mlt
cat "$folder/tokenizer.json" | mlt-pack - > c.mlt
mlt-pack a.mlt -o d.mlt
cmp a.mlt b.mlt
cmp a.mlt c.mlt
cmp a.mlt d.mlt
[ "$(stat -c %s a.mlt)" = 33713 ]
rc=0; mlt-pack "$folder" -o a.mlt || rc=$?
[ $rc -eq 1 ]
mlt-pack "$folder" -f -o a.mlt
rc=0; mlt-pack a.mlt -f -o ./a.mlt || rc=$?
[ $rc -eq 1 ]
cmp a.mlt b.mlt
[ "$(ls -A | tr '\n' ' ')" = "a.mlt b.mlt c.mlt d.mlt " ]
