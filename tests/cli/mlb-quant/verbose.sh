# -v says on standard error what is decided, and why; the file is the same, and -q has the last word.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -v --type q4_0 --q8 tok_emb "$story" -o a.mlb --target scalar -t 1 > out 2> said
[ ! -s out ]
for wanted in 'target scalar: as --target says' 'threads 1: as --threads says' 'folder, ' 'tok_emb: q8_0 from .*: of a class of --q8' \
  'layers.0.wq: q4_0 from .*q_proj.weight: as --type says' 'layers.0.attn_norm: f32 from .*: no matrix'; do
  [ "$(grep -c "^mlb-quant: .*$wanted" said)" = 1 ]
done
mlb-quant --type q4_0 --q8 tok_emb "$story" -o b.mlb 2> short
[ "$(wc -l < short)" -lt 5 ]
cmp a.mlb b.mlb
mlb-quant -v -q --type q4_0 "$story" -o c.mlb 2> quiet
[ ! -s quiet ]
ML_TARGET=scalar mlb-quant -v --dry-run a.mlb 2> again > plan
grep -q 'target scalar: as ML_TARGET says' again
grep -q 'layers.0.ffn_norm: f32' again
mlb-quant -v --dry-run --type q4_0 --q8 tok_emb b.mlb 2> again > plan
grep -q 'layers.0.wq: q4_0 from .*: its quants stay as they were' again
