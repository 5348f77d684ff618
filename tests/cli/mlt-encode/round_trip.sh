# Whatever the text and the format, it comes back.
for name in sp_legacy l3_bos l3_nfc gpt2 smollm; do
  mlt-pack "$ML_TEST_DATA/tokenizers/$name" -o $name.mlt
  for format in ids jsonl u16 u32; do
    mlt-encode -m $name.mlt --format $format "$ML_TEST_DATA/README.md" > ids
    if [ $format = jsonl ]; then
      mlt-encode -m $name.mlt --format $format -d ids > text.json
      python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["text"])' < text.json > text
    else
      mlt-encode -m $name.mlt --format $format -d < ids > text
    fi
    cmp text "$ML_TEST_DATA/README.md"
  done
  mlt-encode -m $name.mlt --lines "$ML_TEST_DATA/README.md" | mlt-encode -m $name.mlt --lines -d > text
  cmp text "$ML_TEST_DATA/README.md"
done
printf '1 403, 407\n261 378' | mlt-encode -m "$ML_TEST_DATA/models/stories260K" -d > text
[ "$(cat text)" = "Once upon a time" ]
[ "$(echo 1 403 | mlt-encode -m "$ML_TEST_DATA/models/stories260K" -d --no-bos)" = "<s> Once" ]
