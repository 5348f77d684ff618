# --html: speeds, or encodings, as a page.
check() { python3 "$ML_TEST_DATA/../cli/check_page.py" "$@"; }
story=$ML_TEST_DATA/models/stories260K
recipe=$ML_TEST_DATA/../../share/recipes/llama.json
printf 'Once upon a time, there was a little dog. The dog liked to play.' > text
mlb-quant -q "$story" -o 'a<b>.mlb'
ml-bench -q 'a<b>.mlb' -p 8 -n 4 -r 2 -t 1,2 --html speed.html > out
check speed.html 6 'a<b>.mlb' 'pp8, tokens a second' 'tg4, tokens a second' 'peak memory' 'mlutils'
grep -q '^| a<b>.mlb |' out
ml-bench -q --encodings "$recipe" f32,int4_g32_f16+embed=int8_g32_f16 "$story" -p 8 -n 4 -r 1 -t 1 --text text --html encodings.html > out
check encodings.html 3 'Encodings of' 'int4_g32_f16+embed=int8_g32_f16' 'KL divergence' 'Decode, tokens a second'
ml-bench -q --encodings "$recipe" f32 "$story" -p 0 -n 4 -r 1 -t 1 --html unscored.html > out
check unscored.html 1 'Decode'
try() { rc=0; "$@" > out 2>> err || rc=$?; [ ! -s out ]; echo $rc >> codes; }
try ml-bench -q 'a<b>.mlb' -p 8 -n 0 -r 1 --html speed.html
try ml-bench -q 'a<b>.mlb' -p 8 -n 0 -r 1 -f --html 'a<b>.mlb'
try ml-bench -q --encodings "$recipe" f32 "$story" -p 8 -n 0 -r 1 --html missing/page
try ml-bench -q 'a<b>.mlb' --html -
try ml-bench -q 'a<b>.mlb' --html /proc/self/fd/1
[ "$(paste -sd' ' codes)" = '1 1 1 2 2' ]
ml-bench -q 'a<b>.mlb' -p 8 -n 0 -r 1 -f --html speed.html > out
check speed.html 2
