# --max-seq lowers the context, never raises it.
mlb-quant --max-seq 100 --dry-run --json "$ML_TEST_DATA/oracle/llama2-mha" | python3 -c 'import json, sys; print(json.load(sys.stdin)["max_seq"])'
mlb-quant --max-seq 100000 --dry-run --json "$ML_TEST_DATA/oracle/llama2-mha" | python3 -c 'import json, sys; print(json.load(sys.stdin)["max_seq"])'
