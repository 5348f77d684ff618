#!/usr/bin/env python3
"""Writes a model of random weights as .mlb and as GGUF: the same weights, to the bit, for measurements side by side."""

import argparse
import random
import struct

SIZES = {  # dim, layers, heads, kv heads, hidden, vocab, shared classifier
    "tiny": (64, 2, 4, 2, 128, 512, True),
    "110m": (768, 12, 12, 12, 2048, 32000, True),
    "1b": (2048, 16, 32, 8, 8192, 32000, False),
}
TYPES = {  # number in a .mlb and in GGUF, bytes of a block without its scale
    "q8_0": (1, 8, 32),
    "q4_0": (2, 2, 16),
}
CONTEXT = 16384
BLOCK = 32
SCALE = struct.pack("<H", 0x1000)  # 2^-11 in f16
EPSILON, THETA = 1e-5, 10000.0
MLB_ALIGNMENT, GGUF_ALIGNMENT = 64, 32


class Model:
    def __init__(self, size, kind, seed):
        self.dim, self.layers, self.heads, self.kv_heads, self.hidden, self.vocab, self.shared = SIZES[size]
        self.kind = kind
        # Slices of one pool: long enough that no matrix meets the same bytes in the same place.
        self.pool = random.Random(seed).randbytes((1 << 22) + 13)
        if kind == "q8_0":
            self.pool = self.pool.replace(b"\x80", b"\x81")  # no quant may be -128
        self.at = 0

    def tensors(self):
        """(role, layer, name in GGUF, rows, columns) in the order of mlb(5); one row is a vector."""
        kv = self.dim // self.heads * self.kv_heads
        yield "token_embd", self.vocab, self.dim
        for i in range(self.layers):
            yield f"blk.{i}.attn_norm", 1, self.dim
            yield f"blk.{i}.attn_q", self.dim, self.dim
            yield f"blk.{i}.attn_k", kv, self.dim
            yield f"blk.{i}.attn_v", kv, self.dim
            yield f"blk.{i}.attn_output", self.dim, self.dim
            yield f"blk.{i}.ffn_norm", 1, self.dim
            yield f"blk.{i}.ffn_gate", self.hidden, self.dim
            yield f"blk.{i}.ffn_down", self.dim, self.hidden
            yield f"blk.{i}.ffn_up", self.hidden, self.dim
        yield "output_norm", 1, self.dim
        if not self.shared:
            yield "output", self.vocab, self.dim

    def quants(self, n):
        parts = []
        while n > 0:
            begin = self.at % len(self.pool)
            parts.append(self.pool[begin:begin + n])
            self.at += len(parts[-1])
            n -= len(parts[-1])
        return b"".join(parts)


def padded(data, alignment):
    return data + bytes(-len(data) % alignment)


def interleaved(quants, n_bytes):
    """Blocks as GGUF has them: the scale, then the quants."""
    stride = n_bytes + len(SCALE)
    blocks = bytearray(len(quants) // n_bytes * stride)
    for i, byte in enumerate(SCALE):
        blocks[i::stride] = bytes([byte]) * (len(quants) // n_bytes)
    for i in range(n_bytes):
        blocks[len(SCALE) + i::stride] = quants[i::n_bytes]
    return bytes(blocks)


def mlb_header(model):
    header = bytearray(256)
    number = TYPES[model.kind][0]
    struct.pack_into("<4s8I", header, 0, b"MLB1", 1, model.dim, model.layers, model.heads, model.kv_heads,
                     model.hidden, model.vocab, CONTEXT)
    struct.pack_into("<ffII", header, 36, THETA, EPSILON, number, model.shared)
    struct.pack_into("<I", header, 120, 1)  # scales in f16
    return bytes(header)


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def entry(key, kind, value):
    """kind: 4 u32, 6 f32, 8 string, or 9 a list of (kind, values)."""
    def scalar(kind, value):
        return text(value) if kind == 8 else struct.pack({4: "<I", 5: "<i", 6: "<f"}[kind], value)
    if kind == 9:
        kind, values = value
        return text(key) + struct.pack("<IIQ", 9, kind, len(values)) + b"".join(scalar(kind, v) for v in values)
    return text(key) + struct.pack("<I", kind) + scalar(kind, value)


def gguf_header(model):
    head_dim = model.dim // model.heads
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    pieces += [f"w{i}" for i in range(len(pieces), model.vocab)]
    types = [2, 3, 3] + [6] * 256 + [1] * (model.vocab - 259)
    entries = [entry("general.architecture", 8, "llama"), entry("general.name", 8, "random")]
    for key, kind, value in (
            ("block_count", 4, model.layers), ("context_length", 4, CONTEXT), ("embedding_length", 4, model.dim),
            ("feed_forward_length", 4, model.hidden), ("attention.head_count", 4, model.heads),
            ("attention.head_count_kv", 4, model.kv_heads), ("rope.dimension_count", 4, head_dim),
            ("rope.freq_base", 6, THETA), ("attention.layer_norm_rms_epsilon", 6, EPSILON),
            ("vocab_size", 4, model.vocab)):
        entries.append(entry("llama." + key, kind, value))
    entries += [entry("tokenizer.ggml.model", 8, "llama"),
                entry("tokenizer.ggml.tokens", 9, (8, pieces)),
                entry("tokenizer.ggml.scores", 9, (6, [-float(i) for i in range(model.vocab)])),
                entry("tokenizer.ggml.token_type", 9, (5, types)),
                entry("tokenizer.ggml.bos_token_id", 4, 1), entry("tokenizer.ggml.eos_token_id", 4, 2)]
    _, number, n_bytes = TYPES[model.kind]
    tensors = list(model.tensors())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries)
    offset = 0
    for name, rows, cols in tensors:
        vector = rows == 1
        size = 4 * cols if vector else rows * cols // BLOCK * (n_bytes + len(SCALE))
        head += text(name + ".weight") + struct.pack("<I", 1 if vector else 2)
        head += struct.pack("<Q" if vector else "<QQ", *([cols] if vector else [cols, rows]))
        head += struct.pack("<IQ", 0 if vector else number, offset)
        offset += size + -size % GGUF_ALIGNMENT
    return padded(head, GGUF_ALIGNMENT)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="110m")
    parser.add_argument("--type", choices=TYPES, default="q8_0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mlb", metavar="FILE")
    parser.add_argument("--gguf", metavar="FILE")
    options = parser.parse_args()
    model = Model(options.size, options.type, options.seed)
    outputs = []
    for path, head, alignment in ((options.mlb, mlb_header(model), MLB_ALIGNMENT),
                                  (options.gguf, gguf_header(model), GGUF_ALIGNMENT)):
        outputs.append((open(path, "wb"), alignment) if path else None)
        if path:
            outputs[-1][0].write(head)
    n_bytes = TYPES[options.type][2]
    for _, rows, cols in model.tensors():
        if rows == 1:
            arrays = joined = [struct.pack("<f", 1.0) * cols]
        else:
            quants = model.quants(rows * cols // BLOCK * n_bytes)
            arrays = [quants, SCALE * (rows * cols // BLOCK)]
            joined = [interleaved(quants, n_bytes)] if options.gguf else []
        for output, parts in zip(outputs, (arrays, joined)):
            for part in parts if output else []:
                output[0].write(padded(part, output[1]))
    for output in outputs:
        if output:
            output[0].close()


if __name__ == "__main__":
    main()
