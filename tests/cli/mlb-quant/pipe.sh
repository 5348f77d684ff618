# Through pipes on both sides: the same bytes as through files.
mlb-quant -q "$ML_TEST_DATA/models/stories260K" -o 8.mlb
mlb-quant -q "$ML_TEST_DATA/models/stories260K" | cmp - 8.mlb
mlb-quant -q --type q4_0 "$ML_TEST_DATA/models/stories260K" -o 4.mlb
mlb-quant -q "$ML_TEST_DATA/models/stories260K" --type q4_0 -o - | mlb-info --check - | tail -n 1
cat 4.mlb | mlb-quant -q --type q4_0 - | cmp - 4.mlb
mlb-quant -q --type q4_0 < 4.mlb | cmp - 4.mlb
mlb-quant -q "$ML_TEST_DATA/models/stories260K" | head -c 4 || [ $? -eq 141 ]  # a reader that left
