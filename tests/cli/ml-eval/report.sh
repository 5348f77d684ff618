# What is printed for people: a table, positions, windows with bars.
story=$ML_TEST_DATA/models/stories260K
printf 'Once upon a time, there was a little dog. The dog liked to play with a big ball.' > a
printf 'Tom had a red car. He was happy.' > b
mlb-quant -q "$story" --type q4_0 -o q4.mlb
ml-eval q4.mlb -m "$story/tokenizer.json" a - -c 8 --against "$story" --by-position --by-window < b
