"""Writes a small .mlb from the format's text alone: make_mlb.py OUT [FIELD=VALUE...], fields by their offset."""
import struct
import sys


def pad(data):
    return data + bytes(-len(data) % 64)


dim, layers, heads, kv_heads, hidden, vocab, context = 32, 2, 2, 1, 64, 40, 128
head_dim = dim // heads
header = bytearray(256)
struct.pack_into("<4s8I", header, 0, b"MLB1", 1, dim, layers, heads, kv_heads, hidden, vocab, context)
struct.pack_into("<ffII", header, 36, 10000.0, 1e-5, 1, 1)  # theta, epsilon, Q8_0, shared classifier


def vector(n):
    return pad(struct.pack(f"<{n}f", *[1 + i / n for i in range(n)]))


def matrix(rows, cols):
    quants = bytes((i * 37 % 255 - 127) & 255 for i in range(rows * cols))
    scales = struct.pack("<f", 0.0078125) * (rows * cols // 32)
    return pad(quants) + pad(scales)


body = matrix(vocab, dim)
for _ in range(layers):
    body += vector(dim) + matrix(heads * head_dim, dim) + 2 * matrix(kv_heads * head_dim, dim) + matrix(dim, heads * head_dim)
    body += vector(dim) + matrix(hidden, dim) + matrix(dim, hidden) + matrix(hidden, dim)
body += vector(dim)
for change in sys.argv[2:]:
    offset, value = change.split("=")
    struct.pack_into("<I", header, int(offset), int(value))
with open(sys.argv[1], "wb") as out:
    out.write(bytes(header) + body)
