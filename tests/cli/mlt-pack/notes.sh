# Notes name what a user should know; --quiet holds them back.
cd "$ML_TEST_DATA/tokenizers"
mlt-pack bad_qwen35 | wc -c
mlt-pack --lossy bad_single_word | wc -c
mlt-pack --max-vocab 1760 l3_bos | wc -c
mlt-pack -q bad_o200k | wc -c
