# --dry-run tells the size, and writes nothing.
mlt-pack "$ML_TEST_DATA/models/stories260K" -o a.mlt --dry-run > plan
[ ! -e a.mlt ]
mlt-pack "$ML_TEST_DATA/models/stories260K" -o a.mlt
[ "$(cat plan)" = "file: $(stat -c %s a.mlt) bytes" ]
