#pragma once

#include "formats/gguf.hpp"

#include <ml/imatrix.hpp>

namespace ml {

/// True for a GGUF file that says it is an importance matrix, as llama-imatrix writes them.
bool is_gguf_imatrix(const GgufFile& file);

/// Reads llama.cpp's importance matrix (gguf(5), IMPORTANCE MATRICES). What of it has no place in ours, and
/// what of ours it lacks, is one note.
///
/// @error format, shape  names the tensor
/// @cost                 memory of the sums as float64
Result<Imatrix> read_gguf_imatrix(const GgufFile& file);

}  // namespace ml
