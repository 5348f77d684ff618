// The lanes come first: the rows are written over them.
#include "kernels/scalar/weight_lanes.hpp"

#include "kernels/table_rows.hpp"

namespace ml::kernels {

const Table scalar_table = kRows;

}  // namespace ml::kernels
