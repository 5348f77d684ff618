# A packed model runs where it lies, with the same digest on every target and for any threads and batches.
model=$ML_TEST_DATA/models/stories260K
digest() { ml-run --digest -n 4 "$@" "Once upon a time" 2>&1 > text | grep '^digest' | md5sum; }
for encoding in q8 q4 q4g32 seed4p4 seed4; do
  seed-pack -q --encoding $encoding "$model" -o packed
  one=$(digest packed -t 1); [ -s text ]
  [ "$one" = "$(digest packed -t 3 -b 1)" ]
  [ "$one" = "$(ML_TARGET=scalar digest packed)" ]
  if [ $encoding = q8 ]; then  # its products use the values that it decodes to
    seed-pack -q --encoding bf16 packed -o plain
    [ "$(digest packed --acts f32)" = "$(digest plain --acts f32)" ]
  fi
  rm -r packed
done
