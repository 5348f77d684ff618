// The lanes come first: the rows are written over them.
#include "kernels/arm/quant_lanes_neon.hpp"

#include "kernels/quant_rows.hpp"

namespace ml::kernels {

const QuantTable neon_quant_table = kQuantRows;

}  // namespace ml::kernels
