here=$(dirname "$0")
python3 "$here/make_mlb.py" a.mlb
python3 "$here/make_mlb.py" b.mlb 32=256
python3 - <<'P'
data = bytearray(open("b.mlb", "rb").read())
data[1856] ^= 1  # layers.0.wq
open("b.mlb", "wb").write(data)
P
mlb-info --diff a.mlb a.mlb
mlb-info --diff a.mlb - < a.mlb
rc=0; mlb-info --diff a.mlb b.mlb || rc=$?; [ $rc -eq 1 ]
rc=0; mlb-info --json --diff a.mlb b.mlb > out || rc=$?; [ $rc -eq 1 ]
python3 -c 'import json; d = json.load(open("out")); assert not d["equal"] and d["differences"][1]["n_unequal_bytes"] == 1'
oracle=$ML_TEST_DATA/oracle
rc=0; mlb-info --diff "$oracle/llama3-gqa-tied" "$oracle/llama3-gqa-q4" || rc=$?; [ $rc -eq 1 ]
rc=0; mlb-info --diff a.mlb missing || rc=$?; [ $rc -eq 1 ]
