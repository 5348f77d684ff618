for arguments in '-o /dev/full' '-o .' '-o no/such' '-o -'; do
  rc=0
  ml-sample --size 10 $arguments > /dev/full || rc=$?
  [ $rc -eq 1 ]
done
(ulimit -f 4; rc=0; ml-sample --size 100000 -o big || rc=$?; [ $rc -eq 1 ])
[ -z "$(ls -A)" ]
