# What cannot be meant.
try() { local rc=0; ml-bench "$@" > out < /dev/null || rc=$?; [ $rc -eq 2 ] && [ ! -s out ]; }
try
try model.mlb -p 0 -n 0
try model.mlb -p 12,x
try model.mlb -n ''
try model.mlb -r 0
try model.mlb --fail-above 5
try model.mlb --fail-above -1 --baseline base.json
try model.mlb --fail-above 5 --baseline base.json -r 2
try model.mlb --target scalar,sse9
try model.mlb --format xml
try -
try -m model.mlb -ngl 99 -p 8 -n 0
try -m model.mlb -ctk q8_0
try model.mlb --split ''
echo '[{}]' > rows.json
rc=0; ml-bench model.mlb --baseline rows.json || rc=$?
[ $rc -eq 1 ]
rc=0; ml-bench model.mlb --baseline missing.json || rc=$?
[ $rc -eq 1 ]
printf '[{"model": ]' > array.json
printf '\n{}\n{"model": x}\n' > rows.jsonl
python3 -c 'print("[" * 3000000)' > deep.json
for file in array.json rows.jsonl deep.json; do
  rc=0; ml-bench model.mlb --baseline $file || rc=$?
  [ $rc -eq 1 ]
done
mkfifo pipe
rc=0; ml-bench pipe || rc=$?
[ $rc -eq 1 ]
