#pragma once

#include <ml/target.hpp>

#include "kernels/quant_table.hpp"
#include "kernels/table.hpp"

namespace ml::kernels {

/// @return the kernels of a target that this machine runs; those of the fastest for Target::best
const Table& table_of(Target target);
const QuantTable& quant_table_of(Target target);

}  // namespace ml::kernels
