# --stop ends before the first of its texts, and holds back what could begin one.
story=$ML_TEST_DATA/models/stories260K
run() { ml-run "$story" -n 60 "$@" "Once upon a time"; }
run --stop Lily
run --stop nowhere --stop "She loved"
run --stop "named Lily. She" --stop "little girl"
run --stop "zzz" > held
run | cmp - held
