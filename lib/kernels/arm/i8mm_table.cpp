// The lanes come first: the rows are written over them. They use the products of FEAT_DotProd and
// FEAT_I8MM where the compiler may.
#include "kernels/arm/weight_lanes_neon.hpp"

#include "kernels/table_rows.hpp"

namespace ml::kernels {

const Table i8mm_table = kRows;

}  // namespace ml::kernels
