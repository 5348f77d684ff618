# What ml-bench --encodings measured, as a picture:
#
#     ml-bench --encodings RECIPE LIST FOLDER --text TEXT -o csv > encodings.csv
#     gnuplot -e "csv='encodings.csv'" encodings.gp > encodings.svg
#
# KL divergence from the first item over bits a weight; without a text, tokens decoded a second.
if (!exists("csv")) { print "name the file: gnuplot -e \"csv='encodings.csv'\" encodings.gp"; exit status 1 }
set datafile separator comma
set terminal svg size 800,500
set key off
set grid
set xlabel "bits a weight"
set offsets graph 0.1, graph 0.15, graph 0.1, graph 0.05
stats csv using "kl_mean" nooutput
if (exists("STATS_records") && STATS_records > 0) {
  set ylabel "KL divergence, nats a token"
  plot csv using "bits_per_weight":"kl_mean":"kl_error" with yerrorbars pointtype 7, \
       csv using "bits_per_weight":"kl_mean":"encoding" with labels noenhanced left offset 1,0.6
} else {
  set ylabel "tokens decoded a second"
  plot csv using "bits_per_weight":"decode_median_ts":"decode_stddev_ts" with yerrorbars pointtype 7, \
       csv using "bits_per_weight":"decode_median_ts":"encoding" with labels noenhanced left offset 1,0.6
}
