python3 "$(dirname "$0")/make_mlb.py" a.mlb
mlb-info --header a.mlb | tail -n +11
