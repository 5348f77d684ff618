# Gemma 3's checkpoints are trained for the round rule: the default, but with an importance matrix.
gemma=$ML_TEST_DATA/oracle/gemma3-text
mlb-quant --type q4_0 "$gemma" -o default.mlb 2> notes
grep -qx 'mlb-quant: --q4-rule round, the default for Gemma 3' notes
mlb-quant -q --type q4_0 --q4-rule round "$gemma" -o round.mlb
cmp default.mlb round.mlb
mlb-quant -q --type q4_0 --q4-rule search "$gemma" -o search.mlb
rc=0; cmp -s search.mlb round.mlb || rc=$?; [ $rc -eq 1 ]
[ "$(mlb-quant -q --type q4_0 --json --dry-run "$gemma" | python3 -c 'import json, sys; print(json.load(sys.stdin)["q4_rule"])')" = round ]
ml-run "$gemma" --tokens 1,2,3,4 --imatrix gemma.mli -q
mlb-quant -q --type q4_0 --imatrix gemma.mli "$gemma" -o weighed.mlb
mlb-quant -q --type q4_0 --imatrix gemma.mli --q4-rule search "$gemma" | cmp - weighed.mlb
mlb-quant --type q4_0 "$ML_TEST_DATA/oracle/gemma2" -o other.mlb 2> notes
[ "$(grep -c rule notes)" = 0 ]
