# Control characters in a text are shown on a terminal, not sent; a pipe gets its bytes.
command -v script > /dev/null || { echo "no script(1)"; exit 77; }
model=$ML_TEST_DATA/models/stories260K
printf 'Once é\x1b]0;owned\x07\x1b[2J\xc2\x9b' > prompt
ml-run "$model" -n 4 --echo --prompt-file prompt > out
python3 -c 'assert open("out", "rb").read().startswith(open("prompt", "rb").read())'
script -qec "ml-run $model -n 4 --echo --prompt-file prompt" -O typescript > /dev/null
python3 - <<'P'
shown = open("typescript", "rb").read()
assert "Once é".encode() + rb"\x1b]0;owned\x07\x1b[2J\u009b" in shown, shown
assert not set(shown) & set(b"\x07\x1b"), shown
P
