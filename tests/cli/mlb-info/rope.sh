for name in llama31-rope-llama3 llama-linear-rope; do
  mlb-info "$ML_TEST_DATA/oracle/$name" | grep RoPE
done
