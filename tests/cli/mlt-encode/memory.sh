# Lines of any number take little memory beside the tokenizer's; hostile counts take none.
# The sanitizers take memory of their own: their build names itself by what it says of its options.
if grep -qE "__(asan|tsan)_init" "$(command -v mlt-encode)"; then echo "sanitizers take memory"; exit 77; fi
mlt-pack -q "$ML_TEST_DATA/tokenizers/gpt2" -o gpt2.mlt
python3 -c 'import sys; sys.stdout.buffer.write(open(sys.argv[1], "rb").read() * 12000)' "$ML_TEST_DATA/README.md" > text
[ "$(stat -c %s text)" -gt 25000000 ]
cat > peak.py <<'PY'
import os, subprocess, sys
def peak(*arguments):
    process = subprocess.Popen(["mlt-encode", "-m", "gpt2.mlt", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    return usage.ru_maxrss / 1024
base = peak("/dev/null", "-t", "1")
for arguments in (["-t", "1"], ["-t", "2"], ["-t", "2", "--format", "jsonl"]):
    used = peak("--lines", "text", *arguments) - base
    assert used < 64, f"{used:.0f} MB more with {arguments}"
PY
python3 peak.py
# A header and little more: 2^24 tokens, 2^32 - 1 rules, a token of 4 GB.
header() { printf 'MLT1\1\0\0\0\2\0\0\0'; printf "$1$2"; printf '\377\377\377\377\377\377\377\377\0\0\0\0'; }
{ header '\0\0\0\1' '\0\0\0\0'; head -c 100 /dev/zero; } > tokens.mlt
{ header '\1\0\0\0' '\377\377\377\377'; printf '\0\1\0\0\0a'; head -c 100 /dev/zero; } > rules.mlt
{ header '\1\0\0\0' '\0\0\0\0'; printf '\0\377\377\377\377a'; } > bytes.mlt
for file in tokens rules bytes; do
  rc=0; (ulimit -v 200000; mlt-encode -m $file.mlt text) || rc=$?; [ $rc -eq 1 ]
done
