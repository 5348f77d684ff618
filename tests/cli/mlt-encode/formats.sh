mlt-pack "$ML_TEST_DATA/models/stories260K" -o story.mlt
printf 'Once upon a time' > text
mlt-encode -m story.mlt text
mlt-encode -m story.mlt < text
mlt-encode -m "$ML_TEST_DATA/models/stories260K/tokenizer.json" --no-bos text
mlt-encode -m story.mlt --format jsonl text text
mlt-encode -m story.mlt --json text text > json
mlt-encode -m story.mlt --format jsonl text text | cmp - json
mlt-encode -m story.mlt --format pieces text
mlt-encode -m story.mlt --count text
mlt-encode -m story.mlt --format u16 text | od -An -tu2
mlt-encode -m story.mlt --format u32 text | od -An -tu4
printf 'a\n\nb' | mlt-encode -m story.mlt --lines
printf 'a\n\nb\n' | mlt-encode -m story.mlt --lines --count -
printf '<s>' | mlt-encode -m story.mlt --no-bos
printf '<s>' | mlt-encode -m story.mlt --no-bos --no-added
mlt-encode -m story.mlt text -o ids
cat ids
