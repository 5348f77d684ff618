// The lanes come first: the rows are written over them.
#include "kernels/x86/quant_lanes_avx2.hpp"

#include "kernels/quant_rows.hpp"

namespace ml::kernels {

const QuantTable avx2_quant_table = kQuantRows;

}  // namespace ml::kernels
