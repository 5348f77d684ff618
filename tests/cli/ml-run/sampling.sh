# The same seed draws the same text, on every target; another seed another one.
story=$ML_TEST_DATA/models/stories260K
run() { ml-run "$story" -n 40 --temp 1 --top-p 0.95 "$@" "Once upon a time"; }
run --seed 1 > first
run --seed 1 --target scalar -t 1 | cmp - first
run --seed 2 > second
rc=0; cmp -s first second || rc=$?
[ $rc -eq 1 ]
