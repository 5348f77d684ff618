"""Writes a small byte-level .mlt from the format's text alone: make_mlt.py OUT."""
import struct
import sys

tokens = [(1, b"<s>"), (1, b"</s>")] + [(0, bytes([byte])) for byte in range(256)] + [(0, b"ab")]
data = struct.pack("<4s4IiiI", b"MLT1", 1, 2, len(tokens), 1, 0, 1, 1)
for attr, text in tokens:
    data += struct.pack("<BI", attr, len(text)) + text
data += struct.pack("<3I", 2 + ord("a"), 2 + ord("b"), 258)
with open(sys.argv[1], "wb") as out:
    out.write(data)
