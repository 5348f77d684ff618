# Every byte of Q8_0 and Q4_0 files, by a second writer that follows the manual alone.
python3 "$ML_TEST_DATA/../oracle/mlb_reference.py"
