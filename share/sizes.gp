# What ml-bench measured of several models, as two pictures beside each other:
#
#     ml-bench --format csv -o speeds.csv MODEL...
#     gnuplot -e "csv='speeds.csv'" sizes.gp > sizes.svg
#
# Tokens read (prefill) and written (decode) a second over the bytes of the model.
if (!exists("csv")) { print "name the file: gnuplot -e \"csv='speeds.csv'\" sizes.gp"; exit status 1 }
set datafile separator comma
set datafile columnheaders
end_of(name) = strlen(name) > 40 ? "..." . name[strlen(name) - 36:*] : name
# A name for each row, in quotes as it may hold blanks, and the rows of each picture.
names = ""
read = ""
written = ""
row = 0
note(name, n_prompt) = (names = names . sprintf(' "%s"', name), row = row + 1, \
  n_prompt > 0 ? (read = read . " " . row) : (written = written . " " . row), row)
stats csv using (note(end_of(strcol("model")) . ", " . strcol("test") . ", threads " . strcol("threads"), column("n_prompt"))) nooutput
if (row == 0) { print "no rows in " . csv; exit status 1 }
set terminal svg size 1000,450 + 10 * row noenhanced background rgb "white"
set key tmargin center Left reverse maxcols 1
set tmargin 2 + (words(read) > words(written) ? words(read) : words(written))
set grid
set xlabel "bytes of the model"
set format x "%.1s %cB"
set xrange [0:*]
set yrange [0:*]
set multiplot layout 1,2
if (read ne "") {
  set ylabel "tokens read a second"
  plot for [i in read] csv every ::i-1::i-1 using "model_bytes":"median_ts":"stddev_ts" \
    with yerrorbars pointtype 4 + i linetype i linewidth 1.5 title word(names, int(i))
}
if (written ne "") {
  set ylabel "tokens written a second"
  plot for [i in written] csv every ::i-1::i-1 using "model_bytes":"median_ts":"stddev_ts" \
    with yerrorbars pointtype 4 + i linetype i linewidth 1.5 title word(names, int(i))
}
unset multiplot
