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
# Packed again: the loader that the source names goes along, its key in place.
seed-pack --encoding bf16 packed -o plain 2> messages
cmp loader.py plain/loader.py; cmp nanoseedlm_seeds.py plain/nanoseedlm_seeds.py
if grep quantization plain/config.json || grep model_file messages; then exit 1; fi
python3 - << 'END'
import json
config = json.load(open("plain/config.json"))
config = {"model_file": config.pop("model_file"), **config}
json.dump(config, open("plain/config.json", "w"))
END
rm plain/nanoseedlm_seeds.py
seed-pack -q --encoding q8 plain -o again
python3 - << 'END'
import json
after = json.load(open("again/config.json"))
assert list(after)[0] == "model_file" and list(after)[-1] == "quantization" and after["model_file"] == "loader.py", after
END
[ -e again/loader.py ] && [ ! -e again/nanoseedlm_seeds.py ]
# Another loader takes its place.
echo "# other" > other.py
seed-pack -q --encoding q8 --loader other.py plain -o other
grep -q '"model_file": "other.py"' other/config.json; [ -e other/other.py ] && [ ! -e other/loader.py ]
# What is no file of the folder is left out, and said.
echo secret > secret; mkdir plain/sub plain/folder.py; cp loader.py plain/sub; mkfifo plain/fifo.py
for name in '"../secret"' "\"$PWD/secret\"" '"sub/loader.py"' '".."' '""' '"a\\b"' '"missing.py"' '"folder.py"' '"fifo.py"' \
  '"tokenizer.json"' '"config.json"' '"model-00001-of-00001.safetensors"' 7 '["loader.py"]'; do
  NAME=$name python3 -c '
import json, os
config = json.load(open("plain/config.json"))
config["model_file"] = json.loads(os.environ["NAME"])
json.dump(config, open("plain/config.json", "w"))'
  seed-pack --encoding q8 plain -o left 2> messages
  if grep model_file left/config.json; then exit 1; fi
  [ ! -e left/secret ] && [ ! -e left/loader.py ]; rm -r left
  grep model_file messages
done
# Nor is a file that is very large.
echo '{"model_type": "llama", "model_file": "large.py"}' > plain/config.json; truncate -s 300M plain/large.py
rc=0; seed-pack --encoding q8 plain -o left 2> messages || rc=$?; [ $rc -eq 1 ] && [ ! -e left ]; cat messages
