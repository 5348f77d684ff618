# --diff --check: defects of either file first; a file that has some is not compared. Rows are not part of a --diff.
make="python3 $(dirname "$0")/make_mlb.py"
$make a.mlb
$make b.mlb 32=256
cp -r "$ML_TEST_DATA/oracle/llama3-gqa-tied" sound
cp -r sound bad
chmod -R u+w bad
python3 - << 'END'
import glob
path = sorted(glob.glob("bad/*.safetensors"))[0]
data = bytearray(open(path, "rb").read())
data[-2:] = b"\xc0\x7f"  # NaN
open(path, "wb").write(data)
END
try() { local rc=0; mlb-info -q --diff "$@" || rc=$?; echo "$rc"; }
try --check a.mlb a.mlb
try --check a.mlb b.mlb
try --check sound bad
try --check bad sound --json
for option in --header --tensors --stats --hash --map --strict "--format csv"; do try $option a.mlb b.mlb; done
