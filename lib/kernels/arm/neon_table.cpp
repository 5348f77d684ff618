// The lanes come first: the rows are written over them.
#include "kernels/arm/weight_lanes_neon.hpp"

#include "kernels/table_rows.hpp"

namespace ml::kernels {

const Table neon_table = kRows;

}  // namespace ml::kernels
