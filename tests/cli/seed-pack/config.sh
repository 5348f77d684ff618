# config.json: the source's keys in order without auto_map, the keys of MLX, the loader.
mkdir model; cp "$ML_TEST_DATA"/models/stories260K/* model
python3 - << 'END'
import json
config = json.load(open("model/config.json"))
config = {"auto_map": {"AutoModel": "x"}, **config}
json.dump(config, open("model/config.json", "w"))
END
echo "# loads" > loader.py; echo "# seeds" > nanoseedlm_seeds.py
seed-pack -q --encoding q8 --rule '*.0.*q_proj*=q4' --rule '*.1.*q_proj*=q4g32' --rule '*v_proj*=seed4p4' \
  --loader loader.py model -o packed
cmp loader.py packed/loader.py; cmp nanoseedlm_seeds.py packed/nanoseedlm_seeds.py
python3 - << 'END'
import json
before, after = json.load(open("model/config.json")), json.load(open("packed/config.json"))
assert list(after) == [key for key in before if key != "auto_map"] + ["quantization", "model_file"], list(after)
assert after["model_file"] == "loader.py"
print(json.dumps(after["quantization"]))
index = json.load(open("packed/model.safetensors.index.json"))
print(index["weight_map"]["model.layers.0.self_attn.v_proj.seeds"])
END
seed-pack -q --encoding bf16 packed -o plain
if grep -e quantization -e model_file plain/config.json; then exit 1; fi
