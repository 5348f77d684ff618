# Neither a short job nor one without a terminal draws a bar; a long one on a terminal does, and wipes it at the end.
ml-sample -q --size 10000 --wait 1300 -o one
command -v script > /dev/null || { echo "script(1) is not installed"; exit 77; }
script -qec 'ml-sample -q --size 10000 --wait 1500 -o two' quiet > /dev/null
script -qec 'ml-sample --size 10000 -o three' short > /dev/null
script -qec 'ml-sample --size 10000 --wait 1500 -o four' long > /dev/null
[ "$(grep -c 'writing \[' quiet short long | tr '\n' ' ')" = 'quiet:0 short:0 long:1 ' ]
tr '\r' '\n' < long | grep -E 'writing|wrote' | tail -n 1 > last
grep -q '^ml-sample: wrote 10.0 kB' last
