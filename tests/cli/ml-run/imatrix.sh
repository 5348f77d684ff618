# An importance matrix does not depend on threads, target, batch, or a pause; a kill leaves a sound file.
story=$ML_TEST_DATA/models/stories260K
for i in $(seq 40); do echo "Once upon a time, there was a little girl named Lily. She had $i red balls and one dog."; done > text
run() { ml-run -q "$story" -p text --chunk 64 "$@"; }
run --imatrix whole.mli
for options in "-t 1" "-t 3 -b 7" "-b 1" "--target scalar" "--save-every 1"; do
  run $options --imatrix other.mli -f
  cmp whole.mli other.mli
done
run --imatrix - | cmp - whole.mli
run --all-logits --imatrix all.mli
mlb-info --json whole.mli all.mli | python3 -c '
import json, sys
some, every = (json.loads(line)["fields"] for line in sys.stdin)
assert some["tokens"] == every["tokens"] == every["classifier_tokens"], (some, every)
assert some["hidden_dim"] == 192 and some["classifier_tokens"] == (some["tokens"] + 63) // 64, some'
# Killed while it works, and taken up again.
python3 - "$story" << 'END'
import os, signal, subprocess, sys, time
run = ["ml-run", "-q", sys.argv[1], "-p", "text", "--chunk", "64", "-t", "1", "--imatrix", "part.mli", "--resume", "--save-every", "1"]
process = subprocess.Popen(run)
while not os.path.exists("part.mli"):
    assert process.poll() is None, "ended before it was seen to save"
    time.sleep(0.001)
process.send_signal(signal.SIGKILL)
process.wait()
END
mlb-info --check part.mli > /dev/null
run --imatrix part.mli --resume
cmp part.mli whole.mli
run --imatrix part.mli --resume
cmp part.mli whole.mli
rm -f .part.mli.*.tmp # where a file system has no files without a name
# Shards, added in any order, are the whole but for the rounding of its sums; more shards than chunks leave one empty.
same_sums=$ML_TEST_DATA/../batches/same_sums.py
n_chunks=$(mlb-info --json whole.mli | python3 -c 'import json, sys; print(-(-json.load(sys.stdin)["fields"]["tokens"] // 64))')
for n in 3 "$n_chunks"; do
  rm -f shard.*
  for k in $(seq "$n"); do run --imatrix "shard.$k" --shard "$k/$n"; done
  # shellcheck disable=SC2046
  imatrix-merge -q $(ls -r shard.*) -o joined.mli -f
  python3 "$same_sums" joined.mli whole.mli
  imatrix-merge -q shard.* -o - | cmp - joined.mli
done
for matrix in whole joined; do mlb-quant -q "$story" --type q4_0 --imatrix $matrix.mli -o $matrix.mlb; done
cmp whole.mlb joined.mlb
rc=0; run --imatrix none.mli --shard "$((n_chunks + 1))/$((n_chunks + 1))" 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'shard.*is empty' err && [ ! -e none.mli ]
for wrong in 0/2 3/2 1 1/ /2 a/b 1/2/3; do
  rc=0; run --imatrix none.mli --shard "$wrong" 2> err || rc=$?
  [ $rc -eq 2 ] && grep -q 'must be K/N' err
done
rc=0; run --shard 1/2 2> err || rc=$?
[ $rc -eq 2 ] && grep -q 'need --imatrix' err
