# What --fail-above and --digest ask for and cannot be compared is an error, also with -q: a gate is not open for want of a baseline.
story=$ML_TEST_DATA/models/stories260K
gate() { ml-bench "$story" -q -p 8 -n 2 -r 3 -t 1 "$@" > out 2> err; }
ml-bench "$story" -q -p 8 -n 2 -r 3 --digest -t 1 -o json > base.json
edit() { python3 -c '
import json, sys
rows = json.load(open("base.json"))
for row in rows:
    exec(sys.argv[1])
print(json.dumps(rows))' "$1"; }
refused() { # MESSAGE OPTION...: fails with one such line a test
  local message=$1 rc=0
  shift
  gate "$@" || rc=$?
  [ $rc -eq 1 ] && [ "$(wc -l < err)" -eq 2 ] && [ "$(grep -c "$message" err)" -eq 2 ]
}
warned() { # MESSAGE OPTION...: passes, and says so
  local message=$1
  shift
  gate "$@"
  [ "$(wc -l < err)" -eq 2 ] && [ "$(grep -c "$message" err)" -eq 2 ]
}
gate --baseline base.json --digest --fail-above 1e15
[ ! -s err ]

# Another machine: the digest decides, and the speed is said to be unknown.
edit 'row["machine"]["cpu"] = "Abacus"' > cpu.json
edit 'row["threads"] = 77' > threads.json
edit 'row["target"] = "abacus"' > target.json
refused 'speed not compared: the baseline is of another machine (Abacus) (ML_E_ARG)' --baseline cpu.json --fail-above 0
warned 'speed not compared: the baseline is of another machine (Abacus)$' --baseline cpu.json --fail-above 0 --digest
gate --baseline cpu.json --digest
[ ! -s err ]
for other in threads target; do
  refused 'speed not compared: the baseline has other threads' --baseline $other.json --fail-above 0
  warned 'speed not compared: the baseline has other threads' --baseline $other.json --fail-above 0 --digest
done
edit 'row.update(digest="0" * 32, threads=77, target="abacus"); row["machine"]["cpu"] = "Abacus"' > numbers.json
refused 'logits have the digest .*, but 0000.* in the baseline' --baseline numbers.json --digest

# Faults of the baseline.
edit 'row["digest"] = None' > null.json
edit 'del row["digest"]' > none.json
for file in null none; do
  refused 'digest not compared: the baseline has none' --baseline $file.json --digest
  refused 'digest not compared: the baseline has none' --baseline $file.json --digest --fail-above 1e15
  gate --baseline $file.json --fail-above 1e15
  [ ! -s err ]
done
edit 'row["samples_ns"] = [row["median_ns"]] * 2' > few.json
refused 'noise needs 3 repetitions, here are 3 and 2 in the baseline' --baseline few.json --fail-above 1e15 --digest
for change in 'row["model"] = "other.mlb"' 'row["test"] = "pp9"' 'row["acts"] = "f32"' 'row["kv"] = "q8"'; do
  edit "$change" > absent.json
  refused 'not in the baseline, which has no row of this file name, test, acts and kv' --baseline absent.json --fail-above 0
  refused 'not in the baseline' --baseline absent.json --digest
  refused 'not in the baseline' --baseline absent.json --digest --fail-above 0
done

# Asked for nothing: notes.
for file in cpu threads few absent null; do gate --baseline $file.json; [ ! -s err ]; done
ml-bench "$story" -p 8 -n 0 -r 1 -t 1 --baseline base.json > out 2> err
grep -q 'speed not compared: noise needs 3 repetitions' err
ml-bench "$story" -p 8 -n 0 -r 3 -t 1 --baseline absent.json > out 2> err
grep -q 'not in the baseline' err
