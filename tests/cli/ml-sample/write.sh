ml-sample --size 5000 -o out
[ "$(stat -c %s out)" = 5000 ]
rc=0; ml-sample --size 10 -o out || rc=$?
[ $rc -eq 1 ]
ml-sample -q --size 10 -f -o out
[ "$(stat -c %s out)" = 10 ]
rc=0; ml-sample -f -o ./out out || rc=$?
[ $rc -eq 1 ]
[ "$(ls -A)" = out ]
