# Folders with latent attention: ranks, caches, tensors of every head.
mlb-info "$ML_TEST_DATA"/mova/llama-mla | sed "s|$ML_TEST_DATA|DATA|"
cp -r "$ML_TEST_DATA"/mova/llama-mla model
python3 - << 'END'
import json
config = json.load(open("model/config.json"))
config.update(mla_kv="fp4", mla_max_context=1000)
json.dump(config, open("model/config.json", "w"))
END
mlb-info --json model | python3 -c '
import json, sys
info = json.load(sys.stdin)
print(info["model"]["latent"], info["model"]["layers"], info["kv_bytes_per_token"], info["model"]["max_seq"])'
rc=0; ml-run --tokens 1,2 -n 1 --ids --ctx 1001 model || rc=$?; [ $rc -eq 1 ]
rc=0; ml-run --tokens 1,2 -n 1 --ids --kv fp8 "$ML_TEST_DATA"/mova/llama-gqa1 || rc=$?; [ $rc -eq 1 ]
