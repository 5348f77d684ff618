# The experts that routers choose are those of the reference, whatever the cuts; and what --routes cannot go with.
mova=$ML_TEST_DATA/mova/mova
ids=$(tr ' \n' ',,' < "$mova/ids.txt" | sed 's/,*$//')
ml-run "$mova" --tokens "$ids" -n 0 --acts f32 --routes routes.jsonl
python3 - "$mova/routes.json" << 'END'
import json
import sys
golden = json.load(open(sys.argv[1]))
lines = [json.loads(line) for line in open("routes.jsonl")]
assert len(lines) == 2 * 2 * 32
for line in lines:
    wanted = golden[line["router"]][line["layer"] - golden["first_sparse_layer"]][line["position"]]
    assert sorted(line["experts"]) == wanted
    assert abs(sum(line["weights"]) - 2.5) < 1e-5
END
for batch in 1 7; do
  ml-run "$mova" --tokens "$ids" -n 0 --acts f32 -b "$batch" --routes - | sort | cmp - <(sort routes.jsonl)
done
ml-run "$mova" --tokens 1,2 -n 3 --ids --acts f32 --routes more.jsonl
[ "$(wc -l < more.jsonl)" -eq $((2 * 2 * 4)) ]

try() { local rc=0; "$@" < /dev/null || rc=$?; echo "$rc"; }
try ml-run "$mova" --tokens 1 -n 0 --routes routes.jsonl
try ml-run "$ML_TEST_DATA/models/stories260K" --tokens 1 -n 0 --routes new.jsonl
try ml-run "$mova" --tokens 1 -n 1 --ids --routes -
try ml-run "$mova" --tokens 1 -n 0 --lookup 4 --routes new.jsonl
try ml-run "$mova" --tokens 1 -n 0 --logits same --routes same
[ ! -e new.jsonl ] && [ ! -e same ]
