# A line that cannot be answered gets its own error, the others their answers; status 1 at the end.
story=$ML_TEST_DATA/models/stories260K
cat > requests << 'END'
{"prompt": 3}
{"prompt": "x", "frequency": 1}
not json
{"prompt": "x", "temp": -1}
{"tokens": [1, 512]}
{"n": 3}
{"prompt": "x", "stop": ["y", ""]}
{"prompt": "x", "stop": ""}
{"prompt": "x", "stop": 3}
[[[[[[[[[[[[[[[[[[[[[[
{"prompt": "x", "n": 1, "n": 2}
{"prompt": "Once upon a time", "n": 5}
END
printf '{"prompt": "x"}\0y\n' >> requests
ml-run "$story" --jsonl -c 64 < requests
