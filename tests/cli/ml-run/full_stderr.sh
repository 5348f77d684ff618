# What --digest and --stats print beside the answer costs no answer where it cannot be written.
story=$ML_TEST_DATA/models/stories260K
ml-run "$story" -n 5 Once > expected
ml-run "$story" -n 5 --digest --stats Once 2> /dev/full | cmp - expected
