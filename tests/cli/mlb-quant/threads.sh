# The file does not depend on the threads, nor on the cores that they find.
core=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
for type in q8_0 q4_0; do
  mlb-quant -q -t 1 --type $type "$ML_TEST_DATA/models/stories260K" -o $type.mlb
  for threads in 2 3 7; do
    mlb-quant -q -t $threads --type $type "$ML_TEST_DATA/models/stories260K" | cmp - $type.mlb
  done
  taskset -c "$core" mlb-quant -q -t 64 --type $type "$ML_TEST_DATA/models/stories260K" | cmp - $type.mlb
done
