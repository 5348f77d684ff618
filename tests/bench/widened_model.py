#!/usr/bin/env python3
"""Writes a Llama checkpoint that computes what a small one does at the cost of a large one.

Every matrix is put into a corner of a larger one of zeros, and layers of zeros follow. The root mean square of a
longer row of zeros is smaller by a known factor, which the norms' weights and the epsilon take back. So the text
is that of the small model, bit for bit but for rounding, and the time that of the large one: what guessing tokens
ahead gains can be measured without a large trained model.
"""

import argparse
import array
import json
import math
import os
import shutil
import struct


def read_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        base = file.tell()
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            if entry["dtype"] != "F32":
                raise SystemExit(f"{path}: {name} is {entry['dtype']}, must be F32")
            begin, end = entry["data_offsets"]
            file.seek(base + begin)
            values = array.array("f")
            values.frombytes(file.read(end - begin))
            yield name, entry["shape"], values


def widened_shapes(config, dim, hidden, layers):
    heads = config["num_attention_heads"]
    head_dim = config["hidden_size"] // heads
    q, kv = heads * head_dim, config["num_key_value_heads"] * head_dim
    yield "model.embed_tokens.weight", [config["vocab_size"], dim]
    for i in range(layers):
        for name, shape in (("input_layernorm", [dim]), ("self_attn.q_proj", [q, dim]), ("self_attn.k_proj", [kv, dim]),
                            ("self_attn.v_proj", [kv, dim]), ("self_attn.o_proj", [dim, q]),
                            ("post_attention_layernorm", [dim]), ("mlp.gate_proj", [hidden, dim]),
                            ("mlp.up_proj", [hidden, dim]), ("mlp.down_proj", [dim, hidden])):
            yield f"model.layers.{i}.{name}.weight", shape
    yield "model.norm.weight", [dim]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a tied Llama checkpoint in F32, in one file")
    parser.add_argument("out", help="the folder to write")
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--hidden", type=int, default=8192)
    parser.add_argument("--layers", type=int, default=16)
    options = parser.parse_args()

    with open(os.path.join(options.folder, "config.json")) as file:
        config = json.load(file)
    ratio = config["hidden_size"] / options.dim
    shapes = dict(widened_shapes(config, options.dim, options.hidden, options.layers))
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        base = file.tell()
        file.truncate(base + offset)
        for name, shape, values in read_tensors(os.path.join(options.folder, "model.safetensors")):
            if len(shape) == 1:
                values = array.array("f", (value * math.sqrt(ratio) for value in values))
            columns = shape[-1]
            for row in range(len(values) // columns):
                file.seek(base + header[name]["data_offsets"][0] + 4 * row * shapes[name][-1])
                values[row * columns:(row + 1) * columns].tofile(file)
    config.update(head_dim=config["hidden_size"] // config["num_attention_heads"], hidden_size=options.dim,
                  intermediate_size=options.hidden, num_hidden_layers=options.layers,
                  rms_norm_eps=config["rms_norm_eps"] * ratio)
    with open(os.path.join(options.out, "config.json"), "w") as file:
        json.dump(config, file, indent=2)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(os.path.join(options.folder, name), options.out)


if __name__ == "__main__":
    main()
