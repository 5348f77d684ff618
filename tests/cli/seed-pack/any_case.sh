# Names of encodings are taken in any case, by --encoding, --mla and --rule.
plan() { seed-pack -q --dry-run --json "$ML_TEST_DATA/mova/mova-mla" -o out "$@"; }
plan --encoding seed4p4 --mla q8 --rule '*down_proj*=q4g32' > small
plan --encoding SEED4P4 --mla Q8 --rule '*down_proj*=Q4g32' > large
cmp small large
python3 - << 'END'
import json
found = {row["encoding"] for row in json.load(open("large"))["tensors"]}
assert {"seed4p4", "q8g64"} <= found, found
END
