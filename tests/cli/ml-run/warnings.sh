# Entries of a folder that belong to no tensor are told of, and change nothing.
cp -r "$ML_TEST_DATA/oracle/llama2-mha" folder
chmod -R u+w folder
python3 - << 'EOF'
import json

path = "folder/model.safetensors"
with open(path, "rb") as file:
    data = file.read()
length = int.from_bytes(data[:8], "little")
header = json.loads(data[8:8 + length])
end = len(data) - 8 - length
header["model.layers.0.self_attn.q_proj.codes"] = {"dtype": "U8", "shape": [4], "data_offsets": [end, end + 4]}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + data[8 + length:] + bytes(4))
EOF
ml-run folder --tokens 1,2,3 --ids -n 4 > stray
ml-run "$ML_TEST_DATA/oracle/llama2-mha" --tokens 1,2,3 --ids -n 4 > plain
cmp stray plain
ml-run folder --tokens 1,2,3 --ids -n 4 --quiet > stray
cmp stray plain
