#pragma once

#include <ml/model.hpp>

#include "convert/family.hpp"
#include "formats/checkpoint_tensor.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// All tensors of a checkpoint by name. What it points to must stay.
class CheckpointTensors {
 public:
  /// @param tensors  as join_entries() gives them
  explicit CheckpointTensors(std::vector<CheckpointTensor> tensors) : tensors_(std::move(tensors)) {}

  /// @return null where the checkpoint has none of that name
  const CheckpointTensor* find(std::string_view name) const;
  std::span<const CheckpointTensor> all() const { return tensors_; }

 private:
  std::vector<CheckpointTensor> tensors_;  // by name
};

/// Rows of a checkpoint's tensor, and where among them a part of `rows` rows begins.
struct PartRows {
  std::uint64_t total;
  std::uint64_t first;
};
PartRows part_rows(const ModelDesc& desc, Part part, std::uint64_t rows);

/// The name of one expert's tensor, where a checkpoint does not stack them: "mlp.experts.3.gate_proj.weight"
/// of "mlp.experts.gate_proj.weight".
std::string name_of_expert(std::string stack, std::uint32_t expert);

/// The way back: a name that has no such number stays as it is.
std::string name_of_stack(std::string name, std::uint32_t expert);

struct ExpertName {
  std::string stack;
  std::uint32_t expert;
};
/// @return what such a name says; nothing for all others
std::optional<ExpertName> split_expert_name(std::string_view name, const Family& family);

/// Tensors of a model, and the memory of those that are no plain part of the checkpoint.
struct MappedTensors {
  std::vector<Tensor> tensors;
  std::vector<Model::Storage> storage;
};

/// Finds the tensors that `desc` needs by the family's names. Views stay where they are, in the checkpoint's
/// encoding and row order; only rows that a family interleaves, and norms stored without their 1, are copied.
/// `desc.shared_classifier` drops an lm_head that is there all the same.
///
/// @error format       tensors are missing, or there are some that nothing explains; the message names them
/// @error unsupported  a needed tensor's dtype cannot be a weight; a bias that no .mlb holds is not 0
/// @error shape        a tensor has another shape than the config implies
Result<MappedTensors> map_tensors(const CheckpointTensors& checkpoint, const Family& family,
                                  const ModelDesc& desc);

}  // namespace ml
