// The lanes come first: the rows are written over them.
#include "kernels/x86/weight_lanes_avx512.hpp"

#include "kernels/table_rows.hpp"

namespace ml::kernels {

const Table avx512_table = kRows;

}  // namespace ml::kernels
