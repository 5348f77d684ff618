# A model with mixtures: golden logits, a digest that does not change, an importance matrix that has no sums of experts.
mova=$ML_TEST_DATA/mova/mova
ids=$(tr ' \n' ',,' < "$mova/ids.txt" | sed 's/,*$//')
ml-run "$mova" --tokens "$ids" -n 0 --acts f32 --logits logits.f32 --digest 2> expected
python3 - "$mova/logits.f32" << 'END'
import array
import sys
got, want = (array.array("f", open(path, "rb").read()) for path in ("logits.f32", sys.argv[1]))
assert len(got) == len(want) == 32 * 320
assert max(abs(a - b) for a, b in zip(got, want)) < 1e-3
END
for target in scalar avx2 avxvnni avx512; do
  ml-run "$mova" --tokens 1 -n 0 --target "$target" 2> /dev/null || continue  # not on this machine
  for more in "-t 1" "-t 2 -b 5"; do
    # shellcheck disable=SC2086
    ml-run "$mova" --tokens "$ids" -n 0 --acts f32 --digest --target "$target" $more 2>&1 | cmp - expected
  done
done
ml-run "$mova" --tokens "$ids" --imatrix mova.mli --chunk 16 -q
imatrix-merge --stats --json mova.mli -o merged.mli > stats
python3 - << 'END'
import json
rows = json.loads(open("stats").read())["inputs"]
empty = [row["name"] for row in rows if row["mean"] == 0]
assert empty == ["layers.1.down", "layers.2.down"], empty
END
