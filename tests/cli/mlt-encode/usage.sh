t=$ML_TEST_DATA/models/stories260K
for bad in "-d --count" "-d --format pieces" "-d --lines --format u32" "--bos --no-bos" "--format hex" "- -"; do
  rc=0; mlt-encode -m "$t" $bad || rc=$?
  [ $rc -eq 2 ]
done
rc=0; mlt-encode -m - || rc=$?; [ $rc -eq 2 ]
rc=0; mlt-encode text || rc=$?; [ $rc -eq 2 ]
