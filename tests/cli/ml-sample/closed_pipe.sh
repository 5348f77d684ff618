# Quiet, and soon: the writer does not go on for its 100 MB.
set +o pipefail
ml-sample --size 100000000 | head -c 3 | wc -c
ml-sample --size 100000000 | true
ml-sample --help | true
