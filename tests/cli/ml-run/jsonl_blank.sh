# Blank lines without end keep no answer back, and cost little each.
python3 - << 'END'
import os, select, subprocess
story = os.environ["ML_TEST_DATA"] + "/models/stories260K"
run = subprocess.Popen(["ml-run", "-q", story, "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for filler in (b"\n" * (1 << 20), b" " * (1 << 20)):
    run.stdin.write(b'\n{"prompt": "Once", "n": 3}\n' + filler)
    run.stdin.flush()  # more than a pipe holds: what it does not was read
    assert select.select([run.stdout], [], [], 0)[0], "no answer yet"
    assert b'"n":3' in run.stdout.readline()
run.stdin.close()
assert run.wait() == 0
END
(ulimit -t 3; head -c 6M /dev/zero | tr '\0' '\n' | ml-run -q "$ML_TEST_DATA/models/stories260K" --jsonl > out)
[ ! -s out ]
