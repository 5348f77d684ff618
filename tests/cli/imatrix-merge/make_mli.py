"""make_mli.py FILE [FIELD=VALUE...]: a small MLI1 file; fields n_layers, dim, hidden_dim, q_dim, tokens, first (a sum)."""

import struct
import sys

fields = {"n_layers": 1, "dim": 32, "hidden_dim": 64, "q_dim": 0, "tokens": 4, "first": 1.0}
for argument in sys.argv[2:]:
    name, value = argument.split("=")
    fields[name] = float(value) if name == "first" else int(value)
n_layers, dim, hidden_dim = fields["n_layers"], fields["dim"], fields["hidden_dim"]
n = n_layers * (2 * dim + (fields["q_dim"] or dim) + hidden_dim) + dim
sums = [fields["first"]] + [float(i % 7) for i in range(1, n)]
with open(sys.argv[1], "wb") as file:
    file.write(b"MLI1" + struct.pack("<IIIIIQQ", 1, n_layers, dim, hidden_dim, fields["q_dim"], fields["tokens"], 2))
    file.write(struct.pack(f"<{n}d", *sums))
