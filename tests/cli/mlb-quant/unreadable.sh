# A file without permission to read (root may read everything: then there is nothing to test).
[ "$(id -u)" -ne 0 ] || { echo "root reads every file"; exit 77; }
: > a.mlb; chmod 000 a.mlb
rc=0; mlb-quant a.mlb -o b.mlb || rc=$?; [ $rc -eq 1 ]
