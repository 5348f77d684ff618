# Guessed tokens change nothing: text, digests of all steps, sessions, drawn or not; --stats counts them.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" --type q4_0 -o small.mlb
prompt="Once upon a time, there was a little girl named Lily. One day, Lily saw a cat. The cat said to Lily"
for model in "$story" "$ML_TEST_DATA/models/qwen3-stories" "$ML_TEST_DATA/models/qwen35-stories"; do
  for drawing in "--temp 0" "--temp 0.9 --seed 3 --repeat-penalty 1.1"; do
    read -ra options <<< "$drawing"
    run() { ml-run "$model" -n 60 --digest "${options[@]}" "$@" "$prompt" 2>&1; }
    run > plain
    for guess in "--lookup 1" "--lookup 12" "--draft small.mlb" "--draft small.mlb --n-draft 2"; do
      read -ra how <<< "$guess"
      run "${how[@]}" | cmp - plain
      run "${how[@]}" -t 1 --target scalar | cmp - plain
    done
  done
  rm -f session
  ml-run "$model" -n 9 --session session "$prompt" > /dev/null
  cp session other
  ml-run "$model" -n 25 --session session "and" > plain
  ml-run "$model" -n 25 --session other --lookup 8 "and" | cmp - plain
  cmp session other
done
ml-run "$story" -n 60 --draft "$story" --stats "$prompt" > out 2> stats
grep -q '^draft  .* tokens a pass, [0-9]* of [0-9]* guesses came true$' stats
ml-run "$story" -n 60 -c 40 --lookup 4 "$prompt" > out 2> notes
grep -q 'the context of 40 positions is full' notes
try() { local rc=0; ml-run "$story" -n 1 "$@" x > out 2>> messages || rc=$?; echo "$rc" >> codes; }
try --lookup 0
try --lookup 3 --draft small.mlb
try --lookup 3 --jsonl
try --draft "$ML_TEST_DATA/oracle/llama2-mha"
try --draft missing.mlb
[ "$(tr '\n' ' ' < codes)" = "2 2 2 1 1 " ]
grep -q 'llama2-mha: vocabulary of 320 tokens, but .*stories260K has 512' messages
