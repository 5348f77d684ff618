# What ml-bench measured of several models, as two pictures beside each other: speed against size.
#
#     ml-bench -o csv MODEL... > speeds.csv
#     gnuplot -e "csv='speeds.csv'" sizes.gp > sizes.svg
#
# Tokens read (prefill) and written (decode) a second over the bytes of the model, each point with its model and threads.
if (!exists("csv")) { print "name the file: gnuplot -e \"csv='speeds.csv'\" sizes.gp"; exit status 1 }
set datafile separator comma
set terminal svg size 1000,500
set key off
set grid
set logscale x
set xlabel "bytes of the model"
set format x "%.1s %cB"
set offsets graph 0.15, graph 0.15, graph 0.1, 0
set yrange [0:*]
set multiplot layout 1,2
label(model, threads) = sprintf("%s, %s", model[strlen(model) > 24 ? strlen(model) - 23 : 1:*], threads)
do for [kind in "n_prompt n_gen"] {
  set ylabel (kind eq "n_prompt" ? "tokens read a second" : "tokens written a second")
  stats csv using (column(kind) > 0 ? column("median_ts") : NaN) nooutput
  if (STATS_records > 0) {
    plot csv using "model_bytes":(column(kind) > 0 ? column("median_ts") : NaN):"stddev_ts" with yerrorbars pointtype 7, \
         csv using "model_bytes":(column(kind) > 0 ? column("median_ts") : NaN):(label(strcol("model"), strcol("threads"))) \
           with labels noenhanced left offset 1,0.6
  }
}
unset multiplot
