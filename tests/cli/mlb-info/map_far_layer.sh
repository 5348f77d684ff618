# A name may claim any layer; that takes no memory.
python3 - <<'END'
import json, struct
header = json.dumps({"model.layers.4000000000.mlp.up_proj.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}})
open("far.safetensors", "wb").write(struct.pack("<Q", len(header)) + header.encode() + struct.pack("<4f", 1, 1, 1, 1))
END
mlb-info --map far.safetensors > out
grep -q 'mlp.up_proj.weight' out
