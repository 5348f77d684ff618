# Random models are sound, the same in both containers, and are compared with a peer turn by turn.
bench=$ML_TEST_DATA/../bench
for type in q8_0 q4_0; do
  python3 "$bench/random_model.py" --size tiny --type $type --mlb tiny.mlb --gguf tiny.gguf
  mlb-info --check tiny.mlb > info
  grep -q "$type" info
  [ "$(head -c 4 tiny.gguf)" = GGUF ]
done
cat > peer <<'END'
#!/usr/bin/env bash
echo "$*" >> calls
echo '[{"n_prompt": 8, "n_gen": 0, "avg_ts": 100.0}, {"n_prompt": 0, "n_gen": 2, "avg_ts": 0.5}]'
END
chmod +x peer
python3 "$bench/peers/compare.py" --ours tiny.mlb --theirs tiny.gguf --peer 'fake one=./peer -x 1' -p 8 -n 2 -t 1,2 -r 2 > table
[ "$(cat calls)" = "$(for t in 1 1 2 2; do echo "-x 1 -m tiny.gguf -p 8 -n 2 -t $t -r 1 -o json"; done)" ]
[ "$(grep -c '^| pp8 \|^| tg2 ' table)" -eq 4 ]
grep -q '^| test | threads | mlutils tok/s | of limit | fake one tok/s | ratio |$' table
printf '#!/bin/sh\necho broken >&2; exit 3\n' > peer
rc=0; python3 "$bench/peers/compare.py" --ours tiny.mlb --theirs tiny.gguf --peer 'bad=./peer' -p 8 -n 2 -r 1 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'bad: exit status 3: broken' err
python3 "$bench/peers/commands.py" -r 2 'one=sh -c "echo a; echo >> turns"' 'two=sh -c "echo b; echo >> turns"' --until-output > table
[ "$(grep -c '^| one \|^| two ' table)" -eq 2 ] && [ "$(wc -l < turns)" -eq 6 ]
rc=0; python3 "$bench/peers/commands.py" 'bad=sh -c "echo broken >&2; exit 3"' 2> err || rc=$?
[ $rc -eq 1 ] && grep -q 'bad: exit status 3: broken' err
