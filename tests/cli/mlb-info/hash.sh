# The digests are those of the stored bytes: equal arrays have equal ones, and standard input has the file's.
python3 "$(dirname "$0")/make_mlb.py" a.mlb
mlb-info --hash a.mlb | tail -n 3
mlb-info --hash - < a.mlb | tail -n 1
