# The recipe for GNU parallel: an existing file is refused before any work, and replaced with -f; nothing is left beside it.
command -v parallel > /dev/null || { echo "GNU parallel is not installed"; exit 77; }
recipe=$ML_TEST_DATA/../../share/batches/imatrix-parallel
model=$ML_TEST_DATA/models/stories260K
for i in $(seq 12); do echo "Once upon a time there was a girl, and she had $i red balls."; done > text.txt
many() { sh "$recipe" "$@"; }
refused() { # STATUS WORD...: one line
  local status=$1 rc=0
  shift
  many "$@" > out 2> err < /dev/null || rc=$?
  [ $rc -eq "$status" ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ]
  cat err >&2
  [ "$(ls -d *.parts.* 2> /dev/null | wc -l)" -eq 0 ]
}
many 3 all.mli "$model" text.txt --chunk 64
mlb-info all.mli > out
cp all.mli before.mli
refused 1 3 all.mli "$model" text.txt --chunk 32
cmp all.mli before.mli
many 3 all.mli "$model" text.txt --chunk 32 -f
rc=0; cmp -s all.mli before.mli || rc=$?
[ $rc -eq 1 ]
many -f 5 all.mli "$model" text.txt --chunk 64
imatrix-merge before.mli -o one.mli
[ "$(ls ./*.mli | wc -l)" -eq 3 ] && [ "$(ls -d *.parts.* 2> /dev/null | wc -l)" -eq 0 ]
mkdir folder
refused 1 3 folder "$model" text.txt
refused 1 3 folder/none/x.mli "$model" text.txt
refused 2 3 - "$model" text.txt
refused 1 -f 3 text.txt "$model" text.txt
refused 2 all "$model" text.txt --chunk 64
refused 1 60 new.mli "$model" text.txt --chunk 64
refused 2 3 new.mli "$model" text.txt --imatrix other.mli
refused 2 3 new.mli "$model" text.txt --dry-run
refused 2 3 new.mli "$model"
refused 1 3 new.mli "$model" missing.txt
[ ! -e new.mli ]
# The parts are kept where only the joining fails.
mkdir tools
printf '#!/bin/sh\necho "imatrix-merge: no room" >&2\nexit 1\n' > tools/imatrix-merge
chmod +x tools/imatrix-merge
rc=0; PATH=$PWD/tools:$PATH many 2 new.mli "$model" text.txt --chunk 64 || rc=$?
[ $rc -eq 1 ] && [ "$(ls new.mli.parts.*/*.mli | wc -l)" -eq 2 ]
rm -r new.mli.parts.*
