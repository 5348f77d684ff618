# The scripts that draw take what -o csv writes: a point and a name for each row.
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
for name in ("q8_0.mlb, pp8", "q4_0.mlb, pp8", "q8_0.mlb, tg4", "q4_0.mlb, tg4"):
    assert text.count(name + ", threads 1") == 1, (name, text)
END_OF_CHECK
ml-bench -q q8_0.mlb -p 0 -n 4 -r 2 -t 1 -o csv > decode.csv
draw decode.csv > decode.svg
grep -q 'tokens written a second' decode.svg
[ "$(grep -c 'tokens read a second' decode.svg)" = 0 ]
for script in sizes encodings; do
  rc=0; gnuplot -e "csv='missing.csv'" "$ML_TEST_DATA/../../share/$script.gp" > none.svg 2> said || rc=$?
  [ $rc -eq 1 ] && [ ! -s none.svg ]
  grep -q '^no rows in missing.csv$' said
done
printf 'Once upon a time, there was a little dog. The dog liked to play.' > text
encodings() {
  ml-bench -q --encodings "$ML_TEST_DATA/../../share/recipes/llama.json" f32,int4_g32_f16+embed=int8_g32_f16 "$story" -p 0 -n 4 -r 2 -t 1 "$@" -o csv > encodings.csv
  gnuplot -e "csv='encodings.csv'" "$ML_TEST_DATA/../../share/encodings.gp" > encodings.svg
  for name in f32 int4_g32_f16+embed=int8_g32_f16; do [ "$(grep -c -F ">$name<" encodings.svg)" = 1 ]; done
}
encodings --text text
grep -q 'KL divergence' encodings.svg
grep -q 'bytes of the model' encodings.svg
encodings
grep -q 'tokens decoded' encodings.svg
