// The lanes come first: the rows are written over them.
#include "kernels/scalar/quant_lanes.hpp"

#include "kernels/quant_rows.hpp"

namespace ml::kernels {

const QuantTable scalar_quant_table = kQuantRows;

}  // namespace ml::kernels
