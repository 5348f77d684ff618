# The script that draws speeds over sizes takes what -o csv writes.
command -v gnuplot > /dev/null || { echo "gnuplot is not installed"; exit 77; }
story=$ML_TEST_DATA/models/stories260K
for type in q8_0 q4_0; do mlb-quant -q "$story" --type $type -o $type.mlb; done
draw() { gnuplot -e "csv='$1'" "$ML_TEST_DATA/../../share/sizes.gp"; }
ml-bench -q q8_0.mlb q4_0.mlb -p 8 -n 4 -r 2 -t 1 -o csv > both.csv
draw both.csv > both.svg
python3 - <<'END_OF_CHECK'
import xml.etree.ElementTree
text = " ".join(xml.etree.ElementTree.parse("both.svg").getroot().itertext())
for wanted in ("tokens read a second", "tokens written a second", "bytes of the model"):
    assert wanted in text, wanted
assert text.count("q8_0.mlb, 1") == text.count("q4_0.mlb, 1") == 2, text
END_OF_CHECK
ml-bench -q q8_0.mlb -p 0 -n 4 -r 2 -t 1 -o csv > decode.csv
draw decode.csv > decode.svg
grep -q 'tokens written a second' decode.svg
! grep -q 'tokens read a second' decode.svg
