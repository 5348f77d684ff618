# --stats goes to standard error and leaves the text alone.
story=$ML_TEST_DATA/models/stories260K
ml-run "$story" -n 5 "Once upon a time" > plain
ml-run "$story" -n 5 --stats "Once upon a time" | cmp - plain
