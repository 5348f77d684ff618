# --json: the object that --jsonl would print for the prompt.
story=$ML_TEST_DATA/models/stories260K
same() {
  ml-run "$story" "$@" --json Once > one
  printf '{"prompt":"Once"}\n' | ml-run "$story" "$@" --jsonl | cmp - one
}
same -n 5
same -n 5 --ids
same -n 0
same -n 40 --stop there
same -n 40 --ids --stop re
ml-run "$story" -n -1 -c 8 --json Once > full 2> note
grep -q '"finish":"context"' full
ml-run "$story" --tokens 1,403 -n 3 --ids --json > given
grep -q '"ids":\[' given
rc=0; ml-run "$story" --json --echo x 2> message || rc=$?
[ $rc -eq 2 ]
