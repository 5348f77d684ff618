python3 "$(dirname "$0")/make_mlb.py" a.mlb
mlb-info a.mlb
