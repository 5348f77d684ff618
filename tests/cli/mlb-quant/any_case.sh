# Names of encodings, scales, rules and classes are taken in any case, and reported in one.
plan() { mlb-quant -q --dry-run "$ML_TEST_DATA/models/stories260K" "$@"; }
plan --json --type q4_0 --scales f16 --q4-rule best --q8 v,down > small
plan --json --type Q4_0 --scales F16 --q4-rule BEST --q8 V,Down > large
cmp small large
plan --type q4_0 > small
plan --type Q4_0 > large
cmp small large
plan > other
rc=0; cmp -s small other || rc=$?; [ $rc -eq 1 ]
