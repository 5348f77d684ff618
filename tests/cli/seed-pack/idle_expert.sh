# Experts that no text chose have the importance of their layer's input, as all of its experts do: none is left out, none is spoilt.
mova=$ML_TEST_DATA/mova/mova
ml-run -q "$mova" --tokens 5,6 -n 0 --routes routes > /dev/null
ml-run -q "$mova" --tokens 5,6 --imatrix text.mli
for options in "plain" "weighed --imatrix text.mli"; do
  seed-pack -q "$mova" --encoding seed4p4 --json -o $options > "${options%% *}.json"
done
mlb-info --check weighed > /dev/null
ml-run -q weighed --tokens 5,6,7 -n 4 --ids > /dev/null
python3 - << 'END'
import json
import math
import struct


def entries(folder):
    data = open(folder + "/model-00001-of-00001.safetensors", "rb").read()
    length = struct.unpack_from("<Q", data)[0]
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, (entry["shape"], data[8 + length + begin:8 + length + end])


chosen = {}
for line in open("routes"):
    row = json.loads(line)
    if row["router"] == "mlp":
        chosen.setdefault(row["layer"], set()).update(row["experts"])
plain, weighed = dict(entries("plain")), dict(entries("weighed"))
n_idle = 0
for layer, experts in chosen.items():
    stack = f"model.layers.{layer}.mlp.experts."
    assert plain[stack + "down_proj.seeds"] == weighed[stack + "down_proj.seeds"]  # no place in the file
    (n, *_), seeds = plain[stack + "gate_proj.seeds"]
    other = weighed[stack + "gate_proj.seeds"][1]
    size = len(seeds) // n
    for expert in range(n):
        n_idle += expert not in experts
        assert seeds[expert * size:(expert + 1) * size] != other[expert * size:(expert + 1) * size], (layer, expert)
assert n_idle > 0, chosen
for row, before in zip(json.load(open("weighed.json"))["tensors"], json.load(open("plain.json"))["tensors"]):
    assert row["name"] == before["name"] and row["encoding"] == before["encoding"]
    assert math.isfinite(row["relative_error"]) and row["relative_error"] < 0.5, row
END
