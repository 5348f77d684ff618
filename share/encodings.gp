# What ml-bench --encodings measured, as a picture:
#
#     ml-bench --encodings RECIPE LIST FOLDER --text TEXT --format csv -o encodings.csv
#     gnuplot -e "csv='encodings.csv'" encodings.gp > encodings.svg
#
# KL divergence from the first item over the bytes of the packed model; without a text, tokens decoded a second.
if (!exists("csv")) { print "name the file: gnuplot -e \"csv='encodings.csv'\" encodings.gp"; exit status 1 }
set datafile separator comma
set datafile columnheaders
set terminal svg size 900,500 noenhanced background rgb "white"
set key outside right top Left reverse
set grid
set xlabel "bytes of the model"
set format x "%.1s %cB"
set xrange [0:*]
set yrange [0:*]
# A name for each row; one with blanks stays one word.
names = ""
stats csv using (names = names . ' "' . strcol("encoding") . '"', column("bytes")) nooutput
n = words(names)
if (n == 0) { print "no rows in " . csv; exit status 1 }
stats csv using "kl_mean" nooutput
scored = exists("STATS_records") && STATS_records > 0
set ylabel (scored ? "KL divergence, nats a token" : "tokens decoded a second")
value = (scored ? "kl_mean" : "decode_median_ts")
error = (scored ? "kl_error" : "decode_stddev_ts")
plot for [i=1:n] csv every ::i-1::i-1 using "bytes":value:error with yerrorbars pointtype 4 + i linewidth 1.5 title word(names, i)
