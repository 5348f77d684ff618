# A valid .mlb that this version cannot run: mlb-info takes it, ml-run says what is missing.
story=$ML_TEST_DATA/models/stories260K
mlb-quant -q "$story" -o story.mlb
printf '\000\000\110\102' | dd of=story.mlb bs=1 seek=124 conv=notrunc status=none  # attn_softcap = 50
mlb-info --check story.mlb > /dev/null
rc=0; ml-run story.mlb x || rc=$?
[ $rc -eq 1 ]
