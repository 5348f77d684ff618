# SIGINT in the middle of the work: the signal's status, and nothing is left.
python3 - << 'END'
import json, os, struct
# A checkpoint large enough to be caught at work: the weights are a hole in the file.
dim, vocab, hidden = 1024, 64000, 2816
shapes = {"model.embed_tokens.weight": [vocab, dim], "lm_head.weight": [vocab, dim], "model.norm.weight": [dim]}
prefix = "model.layers.0."
for name, shape in {"input_layernorm": [dim], "post_attention_layernorm": [dim], "self_attn.q_proj": [dim, dim],
                    "self_attn.k_proj": [dim, dim], "self_attn.v_proj": [dim, dim], "self_attn.o_proj": [dim, dim],
                    "mlp.gate_proj": [hidden, dim], "mlp.up_proj": [hidden, dim], "mlp.down_proj": [dim, hidden]}.items():
    shapes[prefix + name + ".weight"] = shape
header, at = {}, 0
for name, shape in shapes.items():
    size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
    at += size
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
os.mkdir("big")
with open("big/model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    file.truncate(8 + len(text) + at)
json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": dim, "intermediate_size": hidden,
           "num_hidden_layers": 1, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": vocab,
           "max_position_embeddings": 128, "rms_norm_eps": 1e-5}, open("big/config.json", "w"))
END
mkdir out
python3 - << 'END'
import os, signal, subprocess, time
process = subprocess.Popen(["mlb-quant", "-q", "-t", "1", "--type", "q4_0", "big", "-o", "out/model.mlb"])
def writing():
    descriptors = f"/proc/{process.pid}/fd"
    for name in os.listdir(descriptors):
        try:
            if os.readlink(f"{descriptors}/{name}").startswith(os.path.realpath("out") + "/"): return True
        except FileNotFoundError:
            pass
    return False
while not writing():  # its unfinished file has no name, but a descriptor
    assert process.poll() is None, "ended before it was seen to write"
    time.sleep(0.002)
process.send_signal(signal.SIGINT)
assert process.wait() == -signal.SIGINT, process.returncode
assert os.listdir("out") == [], os.listdir("out")
END
