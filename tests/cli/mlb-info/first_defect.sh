# Without --check the first defect is the answer.
python3 "$(dirname "$0")/make_mlb.py" bad.mlb 8=33 20=3
mlb-info bad.mlb
