# Usage errors: one line, status 2, nothing written.
for arguments in "--type q5_0" "--scales f64" "--q8 nope --type q4_0" "--q8 v" "--q4-rule finest" "--imatrix x" "--type q4_0 --q4-rule round --imatrix x" "--max-seq 0" "--max-seq x" \
  "--json" "one" "--max-seq 99999999999999999999" "one two -o three" "one -ngl"; do
  rc=0
  mlb-quant $arguments "$ML_TEST_DATA/models/stories260K" > out || rc=$?
  [ $rc -eq 2 ]
  [ ! -s out ]
done
