# The recipe measures each model, names the host, and passes options on.
command -v parallel > /dev/null || { echo "GNU parallel is not installed"; exit 77; }
recipe=$ML_TEST_DATA/../../share/batches/bench-sweep
cp -r "$ML_TEST_DATA/models/stories260K" "a model"
ln -s "a model" other
sh "$recipe" "a model" other -- -p 8,16 -n 0 -r 1 > lines
python3 - << 'END'
import json, os
rows = [json.loads(line) for line in open("lines")]
assert [row["result"]["model"] for row in rows] == ["a model", "a model", "other", "other"], rows
assert {row["host"] for row in rows} == {os.uname().nodename}, rows
END
rc=0; sh "$recipe" missing.mlb -- -r 1 > none 2> err || rc=$?
[ $rc -ne 0 ] && [ ! -s none ] && grep -q 'missing.mlb' err
