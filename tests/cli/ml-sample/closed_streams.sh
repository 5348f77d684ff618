# A descriptor that the caller closed is never a file that the tool opened.
rc=0; ml-sample --show >&- || rc=$?
[ $rc -eq 1 ]
ml-sample --size 10 -o out 2>&- <&-
[ "$(stat -c %s out)" = 10 ]
