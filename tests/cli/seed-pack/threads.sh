# Neither threads nor target change a byte.
model=$ML_TEST_DATA/models/stories260K
seed-pack -q -t 1 "$model" -o one
seed-pack -q -t 3 "$model" -o three; diff -r one three
ML_TARGET=scalar seed-pack -q "$model" -o scalar; diff -r one scalar
