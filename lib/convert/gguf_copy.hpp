#pragma once

#include "convert/tensors.hpp"
#include "encodings/ggml_blocks.hpp"
#include "formats/gguf.hpp"

#include <string>
#include <vector>

namespace ml {

/// One tensor of a model, and how it comes out of one of a GGUF file.
struct GgufTake {
  const GgufTensor* tensor = nullptr;
  const std::string* path = nullptr;  ///< of the file that holds it
  Role role = Role::tok_emb;
  std::uint32_t layer = kNoLayer;
  std::uint64_t rows = 0;  ///< of the result
  std::uint64_t cols = 0;
  std::uint64_t first_row = 0;  ///< in the file's tensor; a vector's element
  std::vector<std::uint64_t> order =
      {};  ///< the file's row (a vector's element) for each of ours; empty: as they stand
  std::vector<std::uint64_t> col_order =
      {};  ///< the file's group of columns for each of ours, all of one size
  bool vector = false;
  bool negative_exp = false;          ///< the file holds -exp(x)
  Encoding encoding = Encoding::f32;  ///< of the result
  DecodeGgmlBlocks decode = nullptr;  ///< set for types that become float32
};

/// Makes the tensors: views of what can stay where it is, copies in one block of memory of the rest.
///
/// @error format  a Q8_0 quant of -128, a value that is no -exp(x); names the tensor
/// @error nomem
Result<MappedTensors> copy_gguf_tensors(std::vector<GgufTake> takes);

}  // namespace ml
