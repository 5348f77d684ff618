# Usage errors: one line, status 2, nothing written.
for arguments in "--encoding q5" "--mla nope" "--rule x" "--rule x=q5" "--rule =q8" "--shard-size 0" "--shard-size 4X" "one"; do
  rc=0
  seed-pack $arguments "$ML_TEST_DATA/models/stories260K" -o out > answer || rc=$?
  [ $rc -eq 2 ]
  [ ! -s answer ]
  [ ! -e out ]
done
