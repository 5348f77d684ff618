# A .mlb through a pipe gives what the file gives.
story=$ML_TEST_DATA/models/stories260K
mlt-pack -q "$story" -o story.mlt
mlb-quant -q "$story" --type q4_0 -o story.mlb
mlb-quant -q "$story" --type q4_0 -o - | cmp - story.mlb
mlb-quant -q "$story" --type q4_0 -o - | mlb-info --check - > /dev/null
ml-run story.mlb -m story.mlt -n 30 "Once" > file
mlb-quant -q "$story" --type q4_0 -o - | ml-run - -m story.mlt -n 30 "Once" > pipe
cmp file pipe
# A named pipe is opened once.
mkfifo named draft
cat story.mlb > named &
ml-run named -m story.mlt -n 30 "Once" | cmp - file
cat story.mlb > named &
cat story.mlb > draft &
ml-run named --draft draft -m story.mlt -n 30 "Once" | cmp - file
wait
