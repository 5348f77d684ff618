#include <ml/seed_pack.hpp>

#include "convert/tensors.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace ml {

namespace {

using ByName = std::map<std::string, std::vector<float>, std::less<>>;

}  // namespace

Result<ColumnImportance> column_importance(const Imatrix& imatrix, const Model& model) {
  ML_CHECK(check_imatrix_fits(imatrix, model.desc()));
  auto columns = std::make_shared<ByName>();
  for (const Tensor& tensor : model.tensors()) {
    const auto input = imatrix_input(tensor.role, model.desc());
    if (!input || imatrix.tokens_of(*input) == 0) continue;
    const std::span<const double> sums = imatrix.of(tensor.layer == kNoLayer ? 0 : tensor.layer, *input);
    if (std::all_of(sums.begin(), sums.end(), [](double sum) { return sum == 0; })) continue;
    std::vector<float> squares;
    for (const double sum : sums)
      squares.push_back(static_cast<float>(sum / static_cast<double>(imatrix.tokens_of(*input))));
    const bool expert = tensor.expert != kNoExpert;  // all of them under their stack's name
    columns->emplace(expert ? name_of_stack(tensor.name, tensor.expert) : tensor.name, std::move(squares));
  }
  return ColumnImportance([columns](std::string_view name, std::uint64_t cols) -> Result<std::vector<float>> {
    const auto found = columns->find(name);
    if (found == columns->end()) return std::vector<float>();
    // A FFN width that is no multiple of 32 has zeros behind it.
    if (found->second.size() < cols) {
      return Error{.status = Status::shape,
                   .message = fmt::format("{} columns, but the importance of {}", cols, found->second.size()),
                   .tensor = std::string(name)};
    }
    return std::vector<float>(found->second.begin(),
                              found->second.begin() + static_cast<std::ptrdiff_t>(cols));
  });
}

}  // namespace ml
