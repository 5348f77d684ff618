# Every defect has its line, the other files are still looked into, and the status is 1.
make="python3 $(dirname "$0")/make_mlb.py"
$make good.mlb
$make bad.mlb 8=33 20=3 80=7
head -c 3000 good.mlb > cut.mlb
cat good.mlb good.mlb > twice.mlb
: > empty
printf 'ML' > short
printf '\177ELF\002\001\001\000\000' > program
printf 'GGUF\003\000\000\000' > model.gguf
printf '{"a": 1}' > some.json
mkdir folder
mlb-info -q --check bad.mlb cut.mlb twice.mlb empty short program model.gguf some.json folder missing good.mlb
