# The numbers do not depend on the number of threads.
mlb-info --stats -t 1 "$ML_TEST_DATA/models/stories260K" > one
for threads in 2 3 7; do
  mlb-info --stats -t $threads "$ML_TEST_DATA/models/stories260K" | cmp - one
done
export TERM=xterm LC_ALL=C.UTF-8
COLUMNS=200 mlb-info --stats "$ML_TEST_DATA/models/stories260K" > one
grep -E 'NAME|embed_tokens|layers.0.input_layernorm' one
# The histogram takes what the line has left, and is ASCII where the terminal shows no more.
for columns in 60 170 175; do
  COLUMNS=$columns LC_ALL=C mlb-info --stats "$ML_TEST_DATA/models/stories260K" > narrow
  if LC_ALL=C grep '[^ -~]' narrow; then exit 1; fi
  sed '1,/NAME/d' narrow | awk '{ print length($0) }' | sort -u
done
