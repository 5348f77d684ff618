# The process ends by the signal, as its parent expects; nothing is left; an older file stays.
echo old > old
for signal in INT TERM HUP; do
  rc=0
  timeout --foreground -s $signal 0.3 ml-sample --size 1000 --wait 20000 -f -o old || rc=$?
  [ $rc -eq 124 ]
done
[ "$(cat old)" = old ]
[ "$(ls -A)" = old ]
