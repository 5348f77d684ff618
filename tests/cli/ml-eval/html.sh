# --html: a page that asks for nothing from outside, shows names as they are, and is the same every time.
check() { python3 "$ML_TEST_DATA/../cli/check_page.py" "$@"; }
cp -r "$ML_TEST_DATA/models/stories260K" story
printf 'Once upon a time, there was a little dog. The dog liked to play with a big ball.' > a
cp a '<b> & "c"'
mlb-quant -q story --type q4_0 -o '<i>q4&.mlb'
evaluate() { ml-eval '<i>q4&.mlb' -m story/tokenizer.json a '<b> & "c"' -c 8 "$@"; }
evaluate --against story --html compared.html > out
check compared.html 5 '<i>q4&.mlb against story' 'a, <b> & "c"' 'By window' 'KL divergence' '99.9 %'
grep -q '^KL divergence' out
evaluate --html plain.html --json -t 1 > /dev/null
check plain.html 2 '<i>q4&.mlb' 'By window'
evaluate --html again.html -t 3 > /dev/null
cmp plain.html again.html
# Parts that are joined know positions, not windows.
evaluate --shard 1/2 --json > one
evaluate --shard 2/2 --json > two
ml-eval --merge one two --html merged.html > /dev/null
check merged.html 1 'By position'
[ "$(grep -c 'By window' merged.html)" = 0 ]
# A name that is no UTF-8, and a control character.
cp a $'\xff\x01'
ml-eval story $'\xff\x01' -c 8 --html odd.html > /dev/null
check odd.html 2 $'\\x01'
# What exists stays, an input is never replaced, and nothing is evaluated for a page that cannot be.
try() { rc=0; "$@" > out 2>> err || rc=$?; [ ! -s out ]; echo $rc >> codes; }
try evaluate --html plain.html
try evaluate --html a -f
try evaluate --html missing/page.html
try evaluate --html -
try evaluate --html /proc/self/fd/1
try evaluate --html out -f
try evaluate --html x --save-logits x
[ "$(paste -sd' ' codes)" = '1 1 1 2 2 2 2' ]
cmp plain.html again.html
evaluate --html plain.html -f > /dev/null
