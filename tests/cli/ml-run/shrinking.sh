# A model that becomes shorter while it is mapped ends the run with a message, not a signal.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" -o model.mlb
mkfifo go
(exec 3> go; sleep 1; truncate -s 300 model.mlb; echo Once >&3) &
rc=0; ml-run model.mlb -m "$story" -n 50 < go > out || rc=$?
wait
[ $rc -eq 1 ]
