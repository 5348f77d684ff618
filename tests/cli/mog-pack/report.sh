# The report of --json and the model do not share standard output, by whatever name it goes; a device takes both.
recipe="$ML_TEST_DATA/../../share/recipes/llama.json"
pack() { mog-pack -q "$recipe" --root "$ML_TEST_DATA/models/stories260K" "$@"; }
ln -s /proc/self/fd/1 link
for output in - /dev/stdout /dev/fd/1 /proc/self/fd/1 /proc/thread-self/fd/1 link; do
  rc=0; pack --json -o "$output" 2> err | cat > out || rc=$?
  [ $rc -eq 2 ] && [ ! -s out ]
  grep -q 'needs -o FILE' err
done
rc=0; pack --json -f -o same > same || rc=$?
[ $rc -eq 2 ] && [ ! -s same ]
pack --json -o model.mog > report.json
python3 -c 'import json; assert json.load(open("report.json"))["output"] == "model.mog"'
pack -o /dev/fd/1 | cmp - model.mog
pack --json -o /dev/null > /dev/null
