# Weights that give no number are no perplexity.
cp -r "$ML_TEST_DATA/models/stories260K" broken
chmod -R u+w broken
python3 - <<'END'
data = bytearray(open("broken/model.safetensors", "rb").read())
data[-4:] = b"\x00\x00\xc0\x7f"
open("broken/model.safetensors", "wb").write(data)
END
printf 'Once upon a time' > text
rc=0; ml-eval broken text > out || rc=$?
[ $rc -eq 1 ] && [ ! -s out ]
rc=0; ml-eval "$ML_TEST_DATA/models/stories260K" text --against broken > out || rc=$?
[ $rc -eq 1 ] && [ ! -s out ]
