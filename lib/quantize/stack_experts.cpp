#include "quantize/stack_experts.hpp"

#include "convert/tensors.hpp"
#include "formats/folder.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <map>

namespace ml {

namespace {

using Experts = std::map<std::uint32_t, const CheckpointTensor*>;

Error defect(const CheckpointTensor& tensor, Status status, std::string message) {
  return {.status = status,
          .message = std::move(message),
          .path = *tensor.entry->path,
          .tensor = show_name(tensor.name)};
}

Result<PackSource> make_stack(const std::string& name, const Experts& experts) {
  const CheckpointTensor& first = *experts.begin()->second;
  PackSource source{.tensor = first};
  std::uint32_t next = 0;
  for (const auto& [expert, tensor] : experts) {
    if (expert != next)
      return defect(first, Status::format,
                    fmt::format("{} is missing", show_name(name_of_expert(name, next))));
    if (tensor->shape != first.shape || tensor->dtype != first.dtype || tensor->shape.size() != 2 ||
        !tensor->view) {
      return defect(*tensor, Status::shape,
                    fmt::format("{} of shape [{}] cannot be stacked on {} of shape [{}], that of expert 0",
                                tensor->dtype, fmt::join(tensor->shape, ", "), first.dtype,
                                fmt::join(first.shape, ", ")));
    }
    source.experts.push_back(*tensor->view);
    ++next;
  }
  source.tensor.name = name;
  source.tensor.view->rows *= experts.size();
  if (experts.size() > 1) source.tensor.shape.insert(source.tensor.shape.begin(), experts.size());
  return source;
}

}  // namespace

Result<void> stack_experts(const std::string& folder, std::vector<PackSource>& sources) {
  const auto family = checkpoint_family(folder);
  if (!family) return {};  // nobody's checkpoint: tensors and no more
  std::map<std::string, Experts> stacks;
  std::vector<std::optional<ExpertName>> names;
  for (const PackSource& source : sources) {
    names.push_back(split_expert_name(source.tensor.name, **family));
    if (names.back()) stacks[names.back()->stack].emplace(names.back()->expert, &source.tensor);
  }
  if (stacks.empty()) return {};
  std::vector<PackSource> stacked;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!names[i]) {
      stacked.push_back(std::move(sources[i]));
      continue;
    }
    const auto found = stacks.find(names[i]->stack);
    if (found == stacks.end()) continue;  // done at the first of them
    ML_TRY(PackSource stack, make_stack(found->first, found->second));
    stacked.push_back(std::move(stack));
    stacks.erase(found);
  }
  sources = std::move(stacked);
  return {};
}

}  // namespace ml
