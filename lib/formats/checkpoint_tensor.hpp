#pragma once

// The tensors of a checkpoint as models know them: an entry of a .safetensors each, or several that belong
// together (nanoseedlm(5), ENTRIES).
//
//   X.seeds (U16 [S, R, C / 8])   SEED4P4 with X.coefs (U16), X.codes (U8), X.exp_bias (I32)
//                                 SEED6P8 with X.coefs (U32), X.codes, X.exp_bias
//                                 SEED4 with X.nibbles (U16), X.exp_bias, where there is no X.codes
//                                 [R, C / 8] is S = 1; the tensor is X.weight
//   X.scales (BF16 [.., C / g])   affine with X.weight or, without it, X (U32), and X.biases (BF16); the
//                                 ratio of the last dimensions of codes and scales tells bits and g
//   any other                     a tensor of its own

#include "formats/defect_list.hpp"
#include "formats/safetensors.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ml {

/// One entry and the file that holds it.
struct CheckpointEntry {
  const SafetensorsTensor* tensor = nullptr;
  const std::string* path = nullptr;
};

struct CheckpointTensor {
  std::string name;
  std::vector<std::uint64_t> shape = {};
  std::string_view dtype = {};             ///< "BF16"; the encoding's name where entries were put together
  std::optional<TensorView> view = {};     ///< where there are weights; every dimension but the last is rows
  const CheckpointEntry* entry = nullptr;  ///< that holds TensorView::data
  bool orphan = false;                     ///< a part whose other parts are missing: no reader looks at it
};

/// The longest name of a tensor in a folder with encoded entries.
inline constexpr std::size_t kMaxEncodedName = 95;

/// Puts entries together. What the result points to must stay.
///
/// @param entries  no name twice
/// @param defects  not null: defects go there, and the entries that have none are put together all the same
/// @return         sorted by name
/// @error format   a part that is missing, of another dtype or size, a scale that is not finite
/// @error shape    dimensions that the encoding cannot have
/// @error limit    a name over kMaxEncodedName
Result<std::vector<CheckpointTensor>> join_entries(std::span<const CheckpointEntry> entries,
                                                   DefectList* defects = nullptr);

/// What readers pass over: "part of ... without ...".
Error orphan_warning(const CheckpointTensor& tensor);

}  // namespace ml
