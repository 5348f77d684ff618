# A folder, its config.json, and a shard of it; paths as they were given.
ln -s "$ML_TEST_DATA/oracle/mistral-sliding" model
mlb-info --check --tensors model
mlb-info model/config.json
mlb-info model/model-00003-of-00003.safetensors
cd model && mlb-info config.json
