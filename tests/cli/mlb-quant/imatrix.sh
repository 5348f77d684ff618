# An importance matrix changes Q4_0 matrices and nothing else; sizes stay.
story=$ML_TEST_DATA/models/stories260K
ml-run -q "$story" --imatrix a.mli --tokens 1,49,53,261,78,7,8,9,10,11,12,13,14,15 --chunk 5
quant() { mlb-quant -q --type q4_0 "$story" "$@"; }
quant -o plain.mlb
quant -o weighed.mlb --imatrix a.mli
quant -o best.mlb --q4-rule best --imatrix a.mli --json > report.json
[ "$(stat -c %s plain.mlb)" = "$(stat -c %s weighed.mlb)" ]
[ "$(stat -c %s plain.mlb)" = "$(stat -c %s best.mlb)" ]
mlb-info --check plain.mlb weighed.mlb best.mlb > /dev/null
rc=0; cmp -s plain.mlb weighed.mlb || rc=$?; [ $rc -eq 1 ]
rc=0; cmp -s best.mlb weighed.mlb || rc=$?; [ $rc -eq 1 ]
for options in "-t 3" "--target scalar" "--target avx2"; do
  quant $options --imatrix a.mli > other.mlb || continue  # not on this machine
  cmp other.mlb weighed.mlb
  quant $options --imatrix a.mli --q4-rule best | cmp - best.mlb
done
python3 - << 'END'
import json
report = json.load(open("report.json"))
assert report["imatrix"] == "a.mli" and report["q4_rule"] == "best"
for row in report["tensors"]:
    assert row["weighted"] == (row["encoding"] == "q4_0"), row
END
# The .mlb's own matrix is the checkpoint's: 192 channels of the feed-forward, 20 of them never driven.
mlb-quant -q "$story" -o 8.mlb
ml-run -q 8.mlb --imatrix b.mli --tokens 1,2,3
quant --imatrix b.mli > /dev/null
# Nothing collected for the classifier's input: a note says so.
python3 - << 'END'
data = bytearray(open("a.mli", "rb").read())
data[32:40] = bytes(8)
data[-64 * 8:] = bytes(64 * 8)
open("none.mli", "wb").write(data)
END
mlb-quant --dry-run --type q4_0 --imatrix none.mli "$story" > /dev/null
# Another model's, no matrix, the output itself: refused.
fails() { local rc=0; mlb-quant -q --type q4_0 "$@" > out || rc=$?; [ $rc -eq 1 ] && [ ! -s out ]; }
fails "$ML_TEST_DATA/oracle/llama2-mha" --imatrix a.mli
fails "$ML_TEST_DATA/oracle/llama2-mha" --imatrix a.mli --dry-run
fails "$ML_TEST_DATA/oracle/llama2-mha" --imatrix a.mli --dry-run --json
fails "$story" --imatrix plain.mlb
fails "$story" --imatrix missing.mli
cp a.mli before
fails "$story" --imatrix a.mli -f -o a.mli
cmp a.mli before
