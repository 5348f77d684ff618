model=$ML_TEST_DATA/models/stories260K
ml-run "$model" "Once upon" -n 5 -t 1 --session s.mls > answer
printf 'Once upon a time there was a dog.' | ml-eval "$model" --save-logits a.mll -c 16 > /dev/null
mlb-info --check s.mls
mlb-info --header --check a.mll
mlb-info --tensors s.mls a.mll | grep -A 2 NAME
printf x | dd of=a.mll bs=1 seek=200 conv=notrunc 2> dd.log
rc=0; mlb-info --check a.mll > damaged || rc=$?; [ $rc -eq 1 ]
tail -n 1 damaged
head -c 60 s.mls > cut.mls
rc=0; mlb-info cut.mls || rc=$?; [ $rc -eq 1 ]
head -c 60 a.mll > cut.mll
rc=0; mlb-info cut.mll || rc=$?; [ $rc -eq 1 ]
