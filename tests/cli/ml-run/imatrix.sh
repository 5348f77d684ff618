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
