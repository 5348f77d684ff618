# Experts by glob, and back; the stack of a checkpoint whose experts are tensors of their own.
mova=$ML_TEST_DATA/mova/mova
seed-pack -q "$mova" -o packed --encoding q8 --rule '*.1.mlp.experts.down_proj*=seed4' --rule '*v_experts*=q4'
mlb-info --check --tensors packed | grep -E 'model.*(experts|gate.weight|router)' | awk '{print $1, $3, $4}'
seed-pack -q packed -o back --encoding bf16
ml-run back --tokens 5,6,7 -n 4 --ids > /dev/null
seed-pack -q "$mova" -o plain --encoding bf16
python3 - "$mova" << 'END'
import json
import os
import shutil
import struct
import sys
os.mkdir("apart")
shutil.copy(sys.argv[1] + "/config.json", "apart/config.json")
data = open(sys.argv[1] + "/model.safetensors", "rb").read()
length = struct.unpack_from("<Q", data)[0]
header = json.loads(data[8:8 + length])
apart = {}
for name, entry in header.items():
    if name == "__metadata__" or len(entry["shape"]) != 3:
        apart[name] = entry
        continue
    n, rows, cols = entry["shape"]
    begin = entry["data_offsets"][0]
    for i in range(n):
        at = begin + 2 * i * rows * cols
        apart[name.replace("experts.", f"experts.{i}.")] = {"dtype": "BF16", "shape": [rows, cols],
                                                            "data_offsets": [at, at + 2 * rows * cols]}
text = json.dumps(apart).encode()
open("apart/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + length:])
END
seed-pack -q apart -o stacked --encoding bf16
for file in plain/*; do cmp "$file" "stacked/${file#plain/}"; done
seed-pack -q "$mova" -o weighed --encoding bf16 --rule '*.1.*v_experts*=seed4'
ml-run "$mova" --tokens 5,6,7,8,9,10 --imatrix mova.mli -q
seed-pack -q apart -o weighed2 --encoding bf16 --rule '*.1.*v_experts*=seed4' --imatrix mova.mli
seed-pack -q "$mova" -o weighed3 --encoding bf16 --rule '*.1.*v_experts*=seed4' --imatrix mova.mli
cmp weighed2/model-00001-of-00001.safetensors weighed3/model-00001-of-00001.safetensors
rc=0; cmp -s weighed/model-00001-of-00001.safetensors weighed2/model-00001-of-00001.safetensors || rc=$?; [ $rc -eq 1 ]
