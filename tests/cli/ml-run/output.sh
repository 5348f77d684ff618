# -o takes the answer: complete, or not there.
story=$ML_TEST_DATA/models/stories260K
ml-run "$story" -n 12 "Once upon a time" > expected
ml-run "$story" -n 12 "Once upon a time" -o "a text"
cmp "a text" expected
ml-run "$story" -n 12 "Once upon a time" -o - | cmp - expected
rc=0; ml-run "$story" -n 2 x -o "a text" 2> message || rc=$?
[ $rc -eq 1 ] && grep -qx 'ml-run: a text: exists; -f replaces it (ML_E_IO)' message
cmp "a text" expected
ml-run "$story" -n 12 "Once upon a time" -f -o "a text"
cmp "a text" expected
rc=0; ml-run missing.mlb -n 2 x -o none 2> message || rc=$?
[ $rc -eq 1 ] && [ ! -e none ]
mlb-quant -q "$story" -o model.mlb
rc=0; ml-run model.mlb -m "$story" -n 2 x -f -o model.mlb 2> message || rc=$?
[ $rc -eq 1 ] && grep -q 'are the same file' message
mlb-info --check model.mlb > checked
usage() { local rc=0; ml-run "$story" "$@" 2> message || rc=$?; [ $rc -eq 2 ]; }
usage -n 2 x -o one --session ./one
usage x -o one --imatrix two
# Binary answers that would go to standard output go there, too.
ml-run "$story" -n 0 --tokens 1,403 --logits - -o logits
ml-run "$story" -n 0 --tokens 1,403 --logits - | cmp - logits
# What could be answered of a batch stays.
rc=0; printf '{"prompt":"Once","n":2}\n{"prompt":1}\n' | ml-run "$story" --jsonl -o answers 2> message || rc=$?
[ $rc -eq 1 ] && [ "$(wc -l < answers)" -eq 2 ]
[ "$(find . -name '.*.tmp' | wc -l)" -eq 0 ]
# Other tools: the same bytes as through a pipe.
mlb-info --json model.mlb | sed s/model.mlb/x/ > expected
mlb-info --json model.mlb -o info && sed s/model.mlb/x/ info | cmp - expected
rc=0; mlb-info --diff model.mlb "$story" -o differences || rc=$?
[ $rc -eq 1 ] && [ -s differences ]
rc=0; mlb-info missing.mlb -o nothing 2> message || rc=$?
[ $rc -eq 1 ] && [ ! -e nothing ]
cp expected text
ml-eval "$story" text --json > expected
ml-eval "$story" text --json -o scores && cmp scores expected
ml-bench model.mlb -p 4 -n 0 -r 1 --format csv -o speeds && [ "$(wc -l < speeds)" -eq 2 ]
ml-bench model.mlb -p 4 -n 0 -r 1 -o csv > speeds && [ "$(wc -l < speeds)" -eq 2 ]
rc=0; ml-bench model.mlb -p 4 -n 0 -r 1 -o csv --format md 2> message || rc=$?
[ $rc -eq 2 ]
