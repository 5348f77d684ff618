#include <ml/seed_pack.hpp>

#include "formats/imatrix.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace ml {

namespace {

std::optional<ImatrixInput> input_of(Role role) {
  switch (role) {
    case Role::wq:
    case Role::wk:
    case Role::wv:
    case Role::wg:
    case Role::lqkv:
    case Role::lz:
    case Role::lb:
    case Role::la: return ImatrixInput::qkv;
    case Role::wo:
    case Role::lout: return ImatrixInput::o;
    case Role::w1:
    case Role::w3: return ImatrixInput::gate_up;
    case Role::w2: return ImatrixInput::down;
    case Role::wcls: return ImatrixInput::classifier;
    case Role::tok_emb:
    case Role::attn_norm:
    case Role::bq:
    case Role::bk:
    case Role::bv:
    case Role::q_norm:
    case Role::k_norm:
    case Role::lconv:
    case Role::dt_bias:
    case Role::a_log:
    case Role::lnorm:
    case Role::ffn_norm:
    case Role::post_attn_norm:
    case Role::post_ffn_norm:
    case Role::final_norm: return std::nullopt;
  }
  return std::nullopt;
}

using ByName = std::map<std::string, std::vector<float>, std::less<>>;

}  // namespace

Result<ColumnImportance> column_importance(const Imatrix& imatrix, const Model& model) {
  ML_TRY(const ImatrixShape shape, imatrix_shape(model.desc()));
  ML_CHECK(check_same_shape(imatrix.shape, shape, "the model"));
  auto columns = std::make_shared<ByName>();
  for (const Tensor& tensor : model.tensors()) {
    const auto input = input_of(tensor.role);
    if (!input || imatrix.tokens_of(*input) == 0) continue;
    const std::span<const double> sums = imatrix.of(tensor.layer == kNoLayer ? 0 : tensor.layer, *input);
    if (std::all_of(sums.begin(), sums.end(), [](double sum) { return sum == 0; })) continue;
    std::vector<float> squares;
    for (const double sum : sums)
      squares.push_back(static_cast<float>(sum / static_cast<double>(imatrix.tokens_of(*input))));
    columns->emplace(tensor.name, std::move(squares));
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
