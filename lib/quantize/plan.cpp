#include "quantize/plan.hpp"

#include "encodings/int_group.hpp"
#include "util/try.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

namespace ml {

namespace {

constexpr std::array kClasses{
    Q8Class{"tok_emb", 1, "tok_emb"},
    Q8Class{"wcls", 2, "wcls (tok_emb where it is shared)"},
    Q8Class{"qk", 4, "wq, wk, wg, lqkv"},
    Q8Class{"v", 8, "wv, lz"},
    Q8Class{"o", 16, "wo, lout"},
    Q8Class{"gate_up", 32, "w1, w3"},
    Q8Class{"down", 64, "w2"},
};

// Whether a tensor's weights are written as they are.
bool stays(Encoding source, Encoding wanted) { return source == wanted || same_quants(source, wanted); }

Error bad_options(std::string message) { return {.status = Status::arg, .message = std::move(message)}; }

Result<void> check_options(const QuantizeOptions& options) {
  if (options.type != Encoding::q8_0 && options.type != Encoding::q4_0) {
    return bad_options(fmt::format("type is {}, must be q8_0 or q4_0", encoding_info(options.type).name));
  }
  if (options.scales == ScaleType::none) return bad_options("scales are none, must be f32 or f16");
  if (options.type == Encoding::q8_0 && options.q8_mask != 0) {
    return bad_options("type is q8_0: classes of matrices to store as Q8_0 go with q4_0 only");
  }
  if (options.imatrix != nullptr && options.type == Encoding::q8_0) {
    return bad_options("type is q8_0: an importance matrix weighs Q4_0 matrices only");
  }
  if (options.imatrix != nullptr && options.q4_rule == Q4Rule::round) {
    return bad_options(
        "rule is round: its scale is the largest element / -8, which an importance matrix cannot change");
  }
  return {};
}

std::uint32_t round_up(std::uint32_t n) {
  const std::uint64_t rounded = (std::uint64_t(n) + kBlock - 1) / kBlock * kBlock;
  return rounded > UINT32_MAX ? n : static_cast<std::uint32_t>(rounded);
}

}  // namespace

std::span<const Q8Class> q8_classes() { return kClasses; }

std::optional<std::uint32_t> find_q8_class(std::string_view name) {
  const std::string wanted(name);
  for (const Q8Class& row : kClasses) {
    if (::strcasecmp(wanted.c_str(), std::string(row.name).c_str()) == 0) return row.bit;
  }
  return std::nullopt;
}

Result<QuantizePlan> make_quantize_plan(const Model& model, const QuantizeOptions& options) {
  ML_CHECK(check_options(options));
  ModelDesc desc = model.desc();
  QuantizePlan plan;
  plan.report.source_hidden_dim = desc.hidden_dim;
  plan.report.source_max_seq = desc.max_seq;
  desc.hidden_dim = round_up(desc.hidden_dim);
  if (options.max_seq != 0) desc.max_seq = std::min(desc.max_seq, options.max_seq);
  if (options.imatrix != nullptr) ML_CHECK(check_imatrix_fits(*options.imatrix, model.desc()));
  const MlbStorage storage{.type = options.type, .scales = options.scales, .q8_mask = options.q8_mask};
  ML_TRY(plan.mlb, plan_mlb(desc, storage));

  QuantizeReport& report = plan.report;
  report.header = plan.mlb.header;
  report.n_bytes = plan.mlb.n_bytes;
  std::uint64_t array_bytes = 0;
  for (const MlbArray& array : plan.mlb.arrays) {
    const Tensor* source = model.find(array.role, array.layer);
    if (source == nullptr) {
      return Error{.status = Status::format, .message = "tensor is missing", .tensor = array.name()};
    }
    const TensorView& view = source->view;
    if (options.keep && encoding_info(view.encoding).quantized && !stays(view.encoding, array.encoding)) {
      return Error{.status = Status::unsupported,
                   .message = fmt::format("is {} and would become {}", encoding_info(view.encoding).name,
                                          encoding_info(array.encoding).name),
                   .tensor = source->name};
    }
    report.tensors.push_back({.name = array.name(),
                              .source = source->name,
                              .array = array,
                              .copied = stays(view.encoding, array.encoding) && view.cols == array.cols,
                              .weighted = !importance_of(array, model.desc(), options).empty()});
    report.n_weights += array.rows * array.cols;
    report.source_weights += view.n_weights();
    array_bytes += array.n_bytes + array.n_scale_bytes;
  }
  report.bits_per_weight = 8.0 * static_cast<double>(array_bytes) / static_cast<double>(report.n_weights);
  return plan;
}

std::vector<float> importance_of(const MlbArray& array, const ModelDesc& desc,
                                 const QuantizeOptions& options) {
  const auto input = imatrix_input(array.role, desc);
  if (options.imatrix == nullptr || array.encoding != Encoding::q4_0 || !input) return {};
  return imatrix_importance(*options.imatrix, array.layer, *input);
}

Result<QuantizeReport> plan_quantize(const Model& model, const QuantizeOptions& options) {
  ML_TRY(QuantizePlan plan, make_quantize_plan(model, options));
  return std::move(plan.report);
}

}  // namespace ml
