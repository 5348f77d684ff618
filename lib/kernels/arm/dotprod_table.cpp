// The lanes come first: the rows are written over them. They use the dot products of FEAT_DotProd
// where the compiler may.
#include "kernels/arm/weight_lanes_neon.hpp"

#include "kernels/table_rows.hpp"

namespace ml::kernels {

const Table dotprod_table = kRows;

}  // namespace ml::kernels
