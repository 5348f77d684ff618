# --to-mla: one key-value head keeps its logits, what cannot be converted is refused, nothing is left behind.
source="$ML_TEST_DATA"/mova/llama-gqa1
seed-pack --to-mla 128 --calibrate "$source"/ids.txt --encoding bf16 -q -o latent "$source"
ids=$(tr ' ' , < "$source"/ids.txt)
for model in "$source" latent "$ML_TEST_DATA"/mova/llama-gqa1-conv; do
  ml-run --acts f32 --tokens "$ids" -n 0 --logits logits.$((n = ${n:-0} + 1)) "$model"
done
cmp logits.2 logits.3
python3 - << 'END'
import array
before, after = (array.array("f", open(name, "rb").read()) for name in ("logits.1", "logits.2"))
assert len(before) == len(after) and max(abs(a - b) for a, b in zip(before, after)) < 1e-4
END
seed-pack --to-mla 0,64 --calibrate "$source"/ids.txt --encoding bf16 --mla q8 --json -q -o half "$source" > report.json
python3 - << 'END'
import json
report = json.load(open("report.json"))
latent = report["latent"]
assert [layer["layer"] for layer in latent["layers"]] == [1] and latent["n_scored"] == 31
assert latent["kl"] > 0 and latent["layers"][0]["latent_energy_lost"] > 0
encodings = {tensor["name"]: tensor["encoding"] for tensor in report["tensors"]}
assert encodings["model.layers.1.self_attn.mla.q_lat"] == "q8g64"
assert "model.layers.1.self_attn.k_proj.weight" not in encodings
config = json.load(open("half/config.json"))
assert config["mla_ranks"] == [0, 64] and config["mla_rope_dim"] == 128
END
ml-run --tokens "$ids" -n 4 --ids --kv fp8 half > /dev/null
seed-pack --to-mla 64 --calibrate "$source"/ids.txt --encoding bf16 --dry-run -o none "$source" | grep -c self_attn.mla
fails() { rc=0; seed-pack -o none "$@" || rc=$?; echo $rc; }
fails --to-mla 64 "$source"
fails --calibrate x "$source"
for rank in 0x3 3, ,3 -1 4294967296 ""; do fails --to-mla "$rank" --calibrate x "$source"; done
fails --to-mla 033 --calibrate "$source"/ids.txt "$source"
fails --to-mla 33 --calibrate "$source"/ids.txt "$source"
fails --to-mla 64 --calibrate "$source"/ids.txt latent
fails --to-mla 64 --calibrate "$source"/config.json "$source"
fails --to-mla 64 --calibrate "$source"/ids.txt "$ML_TEST_DATA"/models/stories260K
[ ! -e none ]
mkdir mine; cp "$ML_TEST_DATA"/models/stories260K/tokenizer.json mine/
rc=0; seed-pack -f -o mine --to-mla 64 --calibrate "$source"/ids.txt -m mine/tokenizer.json "$source" || rc=$?; echo $rc
[ -s mine/tokenizer.json ]
