# Parts collected apart add up to the whole, in any order to the same bytes.
story=$ML_TEST_DATA/models/stories260K
ids() { python3 -c 'import sys; a, b = map(int, sys.argv[1:]); print(",".join(str((i * i * 31 + 7 * i + 1) % 512) for i in range(a, b)))' "$@"; }
collect() { ml-run -q "$story" --chunk 16 --tokens "$(ids "$2" "$3")" --imatrix "$1"; }
collect whole.mli 0 120
collect a.mli 0 32; collect b.mli 32 80; collect c.mli 80 120
imatrix-merge -q a.mli b.mli c.mli -o abc.mli
imatrix-merge -q -t 2 c.mli a.mli b.mli | cmp - abc.mli
imatrix-merge -q b.mli - a.mli -o - < c.mli | cmp - abc.mli
imatrix-merge -q < whole.mli | cmp - whole.mli
python3 - << 'END'
import struct
whole, parts = (open(name, "rb").read() for name in ("whole.mli", "abc.mli"))
assert whole[:40] == parts[:40], (whole[:40], parts[:40])
for a, b in zip(struct.iter_unpack("<d", whole[40:]), struct.iter_unpack("<d", parts[40:])):
    assert abs(a[0] - b[0]) <= 1e-14 * a[0], (a, b)
END
