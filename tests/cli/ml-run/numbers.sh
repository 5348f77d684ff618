# Numbers are decimal and mean what they say; an empty one is a mistake.
story=$ML_TEST_DATA/models/stories260K
[ "$(ml-run "$story" --ids -n 010 x | wc -w)" -eq 10 ]
try() { local rc=0; ml-run "$story" "$@" x 2> err || rc=$?; [ $rc -eq 2 ] && [ "$(wc -l < err)" -eq 1 ]; }
try -n ''
try --temp ''
try --seed -2
try --seed 18446744073709551616
try -n 1x
try -m ''
try --stop ''
for tokens in '' 1,,2 ,1 1,; do
  rc=0; ml-run "$story" --ids -n 1 --tokens "$tokens" 2> err || rc=$?
  [ $rc -eq 2 ] || { echo "--tokens '$tokens': $rc"; exit 1; }
done
