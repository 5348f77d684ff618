# Usage errors: one line, status 2, nothing written.
for arguments in "--encoding q5" "--mla nope" "--rule x" "--rule x=q5" "--rule =q8" "--shard-size 0" "--shard-size 4X" "--shard-size 0x10" "--encoding q8 --rule *=q4 --imatrix missing" "one"; do
  rc=0
  seed-pack $arguments "$ML_TEST_DATA/models/stories260K" -o out > answer || rc=$?
  [ $rc -eq 2 ]
  [ ! -s answer ]
  [ ! -e out ]
done
for output in - /dev/fd/1; do
  rc=0; seed-pack "$ML_TEST_DATA/models/stories260K/model.safetensors" -f -o $output > answer || rc=$?
  [ $rc -eq 2 ] && [ ! -s answer ] && [ ! -e ./- ]
done
