# --echo prints the prompt of this run, also before no answer, and nothing that an earlier run has said.
story=$ML_TEST_DATA/models/stories260K
[ "$(ml-run -q "$story" --echo -n 0 'Once upon a time')" = 'Once upon a time' ]
[ -z "$(ml-run -q "$story" -n 0 'Once upon a time')" ]
[ "$(ml-run -q "$story" --session session --echo -n 0 'Once upon a')" = 'Once upon a' ]
ml-run -q "$story" --session session --echo -n 2 time > out
grep -q '^ time' out
[ "$(ml-run -q "$story" --session session --echo -n 0 '!')" = ' !' ]
[ "$(ml-run -q "$story" --session session --echo --ids -n 0 --tokens 300)" = '300' ]
