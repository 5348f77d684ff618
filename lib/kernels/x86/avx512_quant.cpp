// The lanes come first: the rows are written over them.
#include "kernels/x86/quant_lanes_avx512.hpp"

#include "kernels/quant_rows.hpp"

namespace ml::kernels {

const QuantTable avx512_quant_table = kQuantRows;

}  // namespace ml::kernels
