# What cannot be collected: one line, and no file, or the file as it was.
story=$ML_TEST_DATA/models/stories260K
try() { local rc=0; ml-run "$@" < /dev/null > out || rc=$?; [ ! -s out ]; echo "$rc"; }
try "$story" --imatrix a.mli ""
try "$story" --imatrix a.mli --chunk 513 --tokens 1,2,3
try "$story" --imatrix a.mli --chunk 1 "Once upon a time"
try "$ML_TEST_DATA/models/qwen35-stories" --imatrix a.mli --tokens 1,2,3
try "$story" --imatrix nowhere/a.mli --tokens 1,2,3
try "$story" --imatrix a.mli --chat x
try "$story" --chunk 5 x
try "$story" --imatrix - --resume x
# A file's name is no text to collect over.
printf 'Once upon a time there was a cat.\n' > text.txt
try -m "$story" --imatrix a.mli -p text.txt
try "$story" --imatrix a.mli --prompt text.txt
try "$story" --imatrix a.mli text.txt text.txt
[ ! -e a.mli ]
ml-run -q -m "$story" --imatrix a.mli --file text.txt
ml-run -q "$story" --imatrix b.mli -p text.txt
ml-run -q "$story" --imatrix c.mli Once upon a time there was a cat.
cmp a.mli b.mli
cmp a.mli c.mli
rm a.mli
ml-run -q "$story" --imatrix a.mli --tokens 1,2,3,4,5 --chunk 2
cp a.mli before
try "$story" --imatrix a.mli --tokens 1,2,3
try "$story" --imatrix a.mli --resume --tokens 1,2,3 --chunk 2
try "$story" --imatrix a.mli --resume --tokens 1,2,3,4,5 --chunk 2 --all-logits
try "$ML_TEST_DATA/oracle/llama2-mha" --imatrix a.mli --resume --tokens 1,2,3,4,5 --chunk 2
cmp a.mli before
