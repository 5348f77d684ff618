#pragma once

#include "convert/gguf_arch.hpp"
#include "convert/tensors.hpp"

namespace ml {

struct GgufTensorOptions {
  bool decode = false;  ///< decode other quantized types to float32 instead of refusing them
};

/// Finds the tensors that `desc` needs by the architecture's names, in the row order of a .mlb. F32, F16 and
/// BF16 tensors stay where they are mapped unless rows have to move; quantized ones are copied, as their
/// scales stand between their quants.
///
/// @error format       tensors are missing, or there are some that nothing explains; a Q8_0 quant of -128
/// @error unsupported  a needed tensor's type; names both
/// @error shape        a tensor has another shape than the metadata implies
/// @cost               memory as large as the quantized tensors, filled by all threads
Result<MappedTensors> map_gguf_tensors(const GgufFiles& files, const GgufArch& arch, const ModelDesc& desc,
                                       const GgufTensorOptions& options);

/// The same without the tensors: everything that keeps them from being mapped but values of weights, at most
/// as many defects as a DefectList holds.
std::vector<Error> check_gguf_tensors(const GgufFiles& files, const GgufArch& arch, const ModelDesc& desc);

}  // namespace ml
