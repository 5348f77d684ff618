#!/usr/bin/env python3
"""A second writer of .mlb files, from mlb(5) and mli(5) alone: slow, plain, one number at a time.

Makes a small checkpoint full of awkward blocks, lets mlb-quant quantize it in many ways, and compares every byte."""

import argparse
import ctypes
import json
import math
import pathlib
import random
import struct
import subprocess
import sys

DIM, HEADS, KV_HEADS, HIDDEN, VOCAB, MAX_SEQ = 64, 4, 2, 72, 40, 128
PADDED_HIDDEN = 96
HEAD = DIM // HEADS
MASK = {"tok_emb": 1, "wcls": 2, "qk": 4, "v": 8, "o": 16, "gate_up": 32, "down": 64}


def f32(x):
    """The float32 nearest to x. A sum, product, quotient or root of float32 numbers, formed in float64, rounds
    right."""
    return ctypes.c_float(x).value


def f16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def divide(a, b):
    if b != 0 or math.isnan(a):
        return f32(a / b)
    return math.nan if a == 0 else math.copysign(math.inf, a) * math.copysign(1, b)


def root(x):
    return x if math.isinf(x) else f32(math.sqrt(x))


# QUANTIZATION

def q8_0(block, half):
    amax = max(abs(x) for x in block)
    if amax < f32(1e-30):
        return 0.0, [0] * 32
    d = divide(amax, 127.0)
    factor = divide(127.0, amax)
    if half:
        d = f16(d)
        if d == 0:
            return 0.0, [0] * 32
        factor = divide(1.0, d)
    quants = [math.trunc(f32(f32(x * factor) + math.copysign(0.5, x))) for x in block]
    return d, [max(-127, min(127, q)) for q in quants]


def first_largest(block):
    m = block[0]
    for x in block:
        if abs(x) > abs(m):
            m = x
    return m


def q4_0_round(block):
    d = divide(first_largest(block), -8.0)
    inverse = divide(1.0, d)
    if not math.isfinite(inverse):
        return d, [0] * 32
    return d, [min(math.trunc(f32(f32(x * inverse) + 8.5)), 15) - 8 for x in block]


def half_away(t):
    return math.copysign(math.floor(abs(t) + 0.5), t)


def fit(x, w):
    m = first_largest(x)
    best = None
    for k in range(13):
        factor = divide(f32(-6 - 0.2 * k), m)
        levels = [max(-8.0, min(7.0, half_away(f32(v * factor)))) for v in x]
        numerator = denominator = error = 0.0
        for v, l, weight in zip(x, levels, w):
            weighted = f32(weight * l)
            numerator = f32(numerator + f32(weighted * v))
            denominator = f32(denominator + f32(weighted * l))
        d = 0.0 if denominator == 0 else divide(numerator, denominator)
        for v, l, weight in zip(x, levels, w):
            r = f32(v - f32(d * l))
            error = f32(error + f32(weight * f32(r * r)))
        if best is None or error < best[0]:
            best = (error, d, levels)
    return best


def q4_0_search(block, importance, mean_square):
    amax = max(abs(x) for x in block)
    if amax == 0:
        return 0.0, [0] * 32

    def attempt(unit, channels):
        x = block if unit == 1 else [divide(v, unit) for v in block]
        square = mean_square
        if unit != 1:
            s = divide(root(mean_square), unit)
            square = f32(s * s)
        squares = [f32(v * v) for v in x]
        w = squares
        if channels is not None:
            w = [f32(imp * root(f32(square + v))) for imp, v in zip(channels, squares)]
        error, d, levels = fit(x, w)
        return math.isfinite(error) and math.isfinite(d), f32(d * unit), [int(l) for l in levels]

    sound, d, levels = attempt(amax if amax < f32(1e-6) else 1, importance)
    if not sound:
        sound, d, levels = attempt(amax, importance)
    if not sound:
        sound, d, levels = attempt(amax, None)
    return d, levels


def importance_of(sums, tokens):
    """mli(5), USE. None where the sums say nothing."""
    if tokens == 0:
        return None
    mean = 0.0
    for value in sums:
        mean += value / tokens
    mean /= len(sums)
    if mean == 0:
        return None
    return [max(f32(value / tokens / mean), f32(0.001)) for value in sums]


# BODY

def pad(data):
    return data + b"\0" * (-len(data) % 64)


def f32_array(values):
    return pad(struct.pack(f"<{len(values)}f", *values))


def matrix(rows, config, classes, importance):
    """rows: lists of floats. classes: the bits of q8_mask that make it Q8_0."""
    half = config["scales"] == "f16"
    eight = config["type"] == "q8_0" or config["mask"] & classes
    quants, scales = bytearray(), []
    for row in rows:
        total = 0.0
        for x in row:
            total += x * x
        mean_square = f32(total / len(row))
        for at in range(0, len(row), 32):
            block = row[at:at + 32]
            if eight:
                d, q = q8_0(block, half)
                quants += struct.pack("<32b", *q)
            else:
                if config["rule"] == "round":
                    d, q = q4_0_round(block)
                else:
                    channels = None if importance is None else importance[at:at + 32]
                    d, q = q4_0_search(block, channels, mean_square)
                quants += bytes((q[j] + 8) | (q[j + 16] + 8) << 4 for j in range(16))
            scales.append(d)
    return pad(bytes(quants)) + pad(struct.pack(f"<{len(scales)}{'e' if half else 'f'}", *scales))


def interleaved(rows):
    """ROPE: row i of a head becomes row 2 i, row i + HEAD / 2 becomes row 2 i + 1."""
    result = []
    for head in range(0, len(rows), HEAD):
        for i in range(HEAD // 2):
            result += [rows[head + i], rows[head + i + HEAD // 2]]
    return result


def write_mlb(weights, config, imatrix):
    words = [DIM, 1, HEADS, KV_HEADS, PADDED_HIDDEN, VOCAB, MAX_SEQ]
    header = b"MLB1" + struct.pack("<I7I", 1, *words) + struct.pack("<ff", 10000.0, 1e-5)
    header += struct.pack("<II", 1 if config["type"] == "q8_0" else 2, config["tied"])
    header = header.ljust(72, b"\0") + struct.pack("<I", config["mask"])
    header = header.ljust(120, b"\0") + struct.pack("<I", config["scales"] == "f16")
    out = [header.ljust(256, b"\0")]
    inputs = imatrix or {}
    zeros = PADDED_HIDDEN - HIDDEN
    layer = "model.layers.0."

    def add(name, classes, which, change=lambda rows: rows):
        out.append(matrix(change(weights[name]), config, classes, inputs.get(which)))

    def wider(rows):
        return [row + [0.0] * zeros for row in rows]

    def taller(rows):
        return rows + [[0.0] * DIM] * zeros

    tied = config["tied"]
    add("model.embed_tokens.weight", 3 if tied else 1, "classifier" if tied else None)
    out.append(f32_array(weights[layer + "input_layernorm.weight"][0]))
    add(layer + "self_attn.q_proj.weight", 4, "qkv", interleaved)
    add(layer + "self_attn.k_proj.weight", 4, "qkv", interleaved)
    add(layer + "self_attn.v_proj.weight", 8, "qkv")
    add(layer + "self_attn.o_proj.weight", 16, "o")
    out.append(f32_array(weights[layer + "post_attention_layernorm.weight"][0]))
    add(layer + "mlp.gate_proj.weight", 32, "gate_up", taller)
    add(layer + "mlp.down_proj.weight", 64, "down", wider)
    add(layer + "mlp.up_proj.weight", 32, "gate_up", taller)
    out.append(f32_array(weights["model.norm.weight"][0]))
    if not tied:
        add("lm_head.weight", 2, "classifier")
    return b"".join(out)


# The checkpoint

def awkward_blocks(large):
    """Blocks that have broken quantizers. large: with magnitudes that no f16 scale holds."""
    blocks = [[0.0] * 32, [-0.0] * 32, [0.0, -0.0] * 16, [0.0] * 17 + [1.0] + [0.0] * 14,
              [0.0] * 3 + [-2.5] + [0.0] * 28, [0.37] * 32, [1.5, -1.5] * 16, [-1.5, 1.5] * 16, [1e-38, -1e-38] * 16,
              [1e-38 * j for j in range(32)], [1e-45, -1e-45, 0, 3e-45] * 8, [1e-40 * (j - 10) for j in range(32)],
              [1e-30 * j / 31 for j in range(32)], [0.99e-30] * 32, [0.9e-6 * (j - 13) / 18 for j in range(32)],
              [1e-6 * (j - 13) / 18 for j in range(32)], [1e-5] + [1e-12 * j for j in range(31)],
              [(j % 16 - 8) * 0.125 for j in range(32)], [(j % 16 - 7.5) * 0.25 for j in range(32)],
              [j * 8 - 127 for j in range(32)], [1e-8 * (j - 16) for j in range(32)], [3e-6] * 32]
    if large:
        blocks += [[1e38] * 32, [1e38, -1e38] * 16, [3.2e38 * (j - 16) / 16 for j in range(32)],
                   [0.0] * 5 + [-3.4e38] + [0.0] * 26, [1e20 * (16 - j) for j in range(32)],
                   [1e10 * (j - 16) for j in range(32)], [1e6] + [1e-3] * 31]
    return blocks


def checkpoint(large):
    numbers = random.Random(5)
    shapes = {"model.embed_tokens": (VOCAB, DIM), "lm_head": (VOCAB, DIM), "model.norm": (1, DIM)}
    for name, shape in {"input_layernorm": (1, DIM), "post_attention_layernorm": (1, DIM),
                        "self_attn.q_proj": (DIM, DIM), "self_attn.k_proj": (KV_HEADS * HEAD, DIM),
                        "self_attn.v_proj": (KV_HEADS * HEAD, DIM), "self_attn.o_proj": (DIM, DIM),
                        "mlp.gate_proj": (HIDDEN, DIM), "mlp.up_proj": (HIDDEN, DIM),
                        "mlp.down_proj": (DIM, HIDDEN)}.items():
        shapes["model.layers.0." + name] = shape
    weights = {}
    for name, (rows, cols) in shapes.items():
        size = 2.0 ** numbers.randint(-12, 2)
        weights[name + ".weight"] = [[f32(numbers.gauss(0, size)) for _ in range(cols)] for _ in range(rows)]
    for name in ("model.embed_tokens", "lm_head", "model.layers.0.self_attn.q_proj", "model.layers.0.mlp.down_proj"):
        rows = weights[name + ".weight"]
        for i, block in enumerate(awkward_blocks(large)):
            rows[i][:32] = [f32(x) for x in block]
    return weights


def save(folder, weights):
    folder.mkdir()
    header, data = {}, bytearray()
    for name, rows in weights.items():
        shape = [len(rows), len(rows[0])] if "norm" not in name else [len(rows[0])]
        begin = len(data)
        for row in rows:
            data += struct.pack(f"<{len(row)}f", *row)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": DIM, "intermediate_size": HIDDEN,
        "num_hidden_layers": 1, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": VOCAB,
        "max_position_embeddings": MAX_SEQ, "rms_norm_eps": 1e-5, "tie_word_embeddings": "lm_head.weight" not in weights}))


def make_imatrix(path):
    """@return importance by input; `o` has no sums, so it has none."""
    numbers = random.Random(9)
    tokens, classifier_tokens = 1000, 7
    sums = {"qkv": [numbers.expovariate(1) ** 4 * 1e3 for _ in range(DIM)], "o": [0.0] * DIM,
            "gate_up": [0.0 if i % 3 == 0 else 1e-9 * i for i in range(DIM)],
            "down": [numbers.expovariate(1) if i < HIDDEN else 0.0 for i in range(PADDED_HIDDEN)],
            "classifier": [1e30 if i == 5 else numbers.random() for i in range(DIM)]}
    data = b"MLI1" + struct.pack("<IIIIIQQ", 1, 1, DIM, PADDED_HIDDEN, 0, tokens, classifier_tokens)
    for values in sums.values():
        data += struct.pack(f"<{len(values)}d", *values)
    path.write_bytes(data)
    return {name: importance_of(values, classifier_tokens if name == "classifier" else tokens)
            for name, values in sums.items()}


def first_difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quant", default="mlb-quant", help="the program to check")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("."), help="an empty folder")
    arguments = parser.parse_args()
    imatrix = make_imatrix(arguments.work / "text.mli")
    failures = count = 0
    for tied in (False, True):
        for scales in ("f32", "f16"):
            weights = checkpoint(large=scales == "f32")
            if tied:
                del weights["lm_head.weight"]
            folder = arguments.work / f"{scales}-{tied}"
            save(folder, weights)
            ways = [("q8_0", "search", (), False), ("q4_0", "search", (), False), ("q4_0", "round", (), False),
                    ("q4_0", "search", (), True), ("q4_0", "search", ("wcls", "qk", "down"), True),
                    ("q4_0", "round", ("tok_emb", "v", "o", "gate_up"), False)]
            for kind, rule, classes, weighted in ways:
                config = {"type": kind, "scales": scales, "rule": rule, "tied": tied,
                          "mask": sum(MASK[name] for name in classes)}
                expected = write_mlb(weights, config, imatrix if weighted else None)
                command = [arguments.quant, "-q", "--type", kind, "--scales", scales, "--q4-rule", rule, str(folder)]
                command += ["--q8", ",".join(classes)] if classes else []
                command += ["--imatrix", str(arguments.work / "text.mli")] if weighted else []
                got = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
                count += 1
                # Padding after the last array is optional.
                if got.rstrip(b"\0") != expected.rstrip(b"\0") or not 0 <= len(expected) - len(got) < 64:
                    failures += 1
                    print(f"{' '.join(command)}: byte {first_difference(got, expected)} differs "
                          f"(of {len(got)}, expected {len(expected)})")
    print(f"{count - failures} of {count} files as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
