# The recipe for GNU parallel gives what one run gives.
command -v parallel > /dev/null || { echo "GNU parallel is not installed"; exit 77; }
recipe=$ML_TEST_DATA/../../share/batches/eval-parallel
model=$ML_TEST_DATA/models/stories260K
for i in $(seq 60); do echo "Once upon a time there was a girl, and she had $i red balls."; done > text.txt
ml-eval -q "$model" -c 64 text.txt > one
sh "$recipe" 3 "$model" -c 64 text.txt > joined
cmp one joined
