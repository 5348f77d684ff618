# No terminal, closed or empty standard input, a reader that goes away: it ends, and says what is wrong.
story=$ML_TEST_DATA/models/stories260K
ml-run "$story" -n 3 < /dev/null
ml-run "$story" -n 3 <&- || echo "status $?"
(ml-run "$story" -n 400 "Once" || true) | head -c 1 > /dev/null || true
ml-run "$story" -n 3 "Once" > /dev/full || echo "status $?"
