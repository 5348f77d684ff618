// The lanes come first: the rows are written over them. They use the dot products of AVX-VNNI where the
// compiler may.
#include "kernels/x86/weight_lanes_avx2.hpp"

#include "kernels/table_rows.hpp"

namespace ml::kernels {

const Table avxvnni_table = kRows;

}  // namespace ml::kernels
