python3 "$(dirname "$0")/make_mlt.py" a.mlt
mlb-info --check --header --tensors --hash a.mlt
head -c 40 a.mlt > cut.mlt
rc=0; mlb-info cut.mlt || rc=$?; [ $rc -eq 1 ]
