for arguments in "- -" "--diff - -" "--diff a.mlb"; do
  rc=0; mlb-info $arguments < /dev/null || rc=$?; [ $rc -eq 2 ]
done
