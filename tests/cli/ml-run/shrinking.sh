# A model that becomes shorter while it is mapped ends the run with a message, not a signal.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" -o model.mlb
mkfifo go
exec 3<> go
ml-run model.mlb -m "$story" -n 50 < go > out 3>&- &
until grep -qs model.mlb /proc/$!/maps; do sleep 0.05; done
truncate -s 300 model.mlb
echo Once >&3
exec 3>&-
rc=0; wait $! || rc=$?
[ $rc -eq 1 ]
