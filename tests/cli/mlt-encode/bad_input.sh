# Bad inputs: a line each, the good ones are done all the same.
mlt-pack "$ML_TEST_DATA/models/stories260K" -o story.mlt
printf 'a\xff' > latin
printf 'b' > text
rc=0; mlt-encode -m story.mlt --strict latin no-such-file text || rc=$?; [ $rc -eq 1 ]
printf 'ok\nab\xff\n' > lines
rc=0; mlt-encode -m story.mlt --strict --lines --count lines || rc=$?; [ $rc -eq 1 ]
for ids in '1 x' '-1' '4294967296' '512'; do
  rc=0; printf '%s' "$ids" | mlt-encode -m story.mlt -d || rc=$?; [ $rc -eq 1 ]
done
printf 'abc' > odd
rc=0; mlt-encode -m story.mlt -d --format u16 odd || rc=$?; [ $rc -eq 1 ]
printf '{"ids": [1, -2]}\n' > ids.jsonl
rc=0; mlt-encode -m story.mlt -d --format jsonl ids.jsonl || rc=$?; [ $rc -eq 1 ]
rc=0; mlt-encode -m story.mlt latin no-such-file -o out || rc=$?; [ $rc -eq 1 ]
[ ! -e out ]
rc=0; mlt-encode -m text text || rc=$?; [ $rc -eq 1 ]
rc=0; mlt-encode -m "$ML_TEST_DATA/tokenizers/qwen_nonfc" --bos text || rc=$?; [ $rc -eq 1 ]
