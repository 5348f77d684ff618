# SIGINT in the middle of the search: nothing is left but the work folder, and the next try ends with the same bytes.
python3 - << 'END'
import json, random, struct
# Enough tensors that the search is caught between two of them.
random.seed(1)
header, at = {}, 0
for i in range(64):
    header[f"t{i}.weight"] = {"dtype": "BF16", "shape": [32, 256], "data_offsets": [at, at + 16384]}
    at += 16384
text = json.dumps(header).encode()
with open("big.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    file.write(b"".join(struct.pack("<H", random.choice((0, 0x8000)) | random.randrange(0x3c00, 0x3d80)) for _ in range(at // 2)))
END
mkdir out
python3 - << 'END'
import os, signal, subprocess, time
process = subprocess.Popen(["seed-pack", "-q", "-t", "1", "--work", "work", "big.safetensors", "-o", "out/packed.safetensors"])
while not (os.path.isdir("work") and any(name.endswith(".safetensors") for name in os.listdir("work"))):
    assert process.poll() is None, "ended before it was seen to search"
    time.sleep(0.002)
process.send_signal(signal.SIGINT)
assert process.wait() == -signal.SIGINT, process.returncode
assert os.listdir("out") == [], os.listdir("out")
assert 0 < len(os.listdir("work")) < 64
END
seed-pack -q --work work big.safetensors -o out/packed.safetensors
[ "$(ls work | wc -l)" = 64 ]
seed-pack -q -t 1 big.safetensors -o fresh.safetensors
cmp out/packed.safetensors fresh.safetensors
