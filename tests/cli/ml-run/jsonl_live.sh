# A program that waits for each answer before it asks again gets it.
python3 - << 'END'
import json, os, subprocess
story = os.environ["ML_TEST_DATA"] + "/models/stories260K"
run = subprocess.Popen(["ml-run", story, "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for prompt in ("Once", "Lily", "Tom"):
    run.stdin.write(json.dumps({"prompt": prompt, "n": 5}) + "\n")
    run.stdin.flush()
    assert json.loads(run.stdout.readline())["n"] == 5
run.stdin.close()
assert run.wait() == 0
END
