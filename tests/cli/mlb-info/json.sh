python3 "$(dirname "$0")/make_mlb.py" a.mlb
python3 "$(dirname "$0")/make_mlb.py" bad.mlb 8=33
rc=0; mlb-info --json --check --tensors --stats --hash a.mlb "$ML_TEST_DATA/models/stories260K" bad.mlb > out || rc=$?
[ $rc -eq 1 ]
python3 - <<'P'
import json
mlb, folder, bad = [json.loads(line) for line in open("out")]
assert mlb["file"] == "a.mlb" and mlb["format"] == "mlb" and mlb["sound"] and mlb["defects"] == []
assert mlb["n_bytes"] == 23104 and mlb["n_weights"] == 19872 and mlb["kv_bytes_per_token"] == 128
assert mlb["fields"]["dim"] == 32 and mlb["fields"]["norm_eps"] == 1e-5
assert mlb["model"]["rope"] == {"type": "plain", "layout": "interleaved", "theta": 10000.0, "factor": 0.0,
    "low_freq_factor": 0.0, "high_freq_factor": 0.0, "orig_max_seq": 0, "attn_factor": 0.0, "local_theta": 0.0, "rot_dim": 16}
assert [e["encoding"] for e in mlb["encodings"]] == ["q8_0", "f32"]
wq = next(t for t in mlb["tensors"] if t["name"] == "layers.1.wq")
assert wq["layer"] == 1 and wq["shape"] == [32, 32] and wq["scales"] == "f32" and wq["offset"] == 12480
assert wq["n_bytes"] == 1152 and wq["n_scale_bytes"] == 128 and len(wq["xxh3_128"]) == 32
norm = mlb["tensors"][-1]
assert norm["name"] == "final_norm" and norm["layer"] is None and norm["stats"]["min"] == 1.0
assert sum(norm["stats"]["histogram"]) == 32 and len(norm["stats"]["histogram"]) == 20
assert abs(norm["stats"]["mean"] - (1 + 31 / 64)) < 1e-12 and norm["stats"]["zero_share"] == 0
assert folder["model"]["hidden_dim"] == 172 and folder["model"]["shared_classifier"] and folder["fields"]["tie_word_embeddings"] is True
assert folder["bits_per_weight"] == 32.0 and len(folder["files"]) == 2
assert not bad["sound"] and bad["defects"][0]["status"] == "ML_E_SHAPE" and bad["defects"][0]["offset"] == 8
P
