#include <ml/quantize.hpp>

#include "formats/mlb_layout.hpp"

namespace ml {

// No other family norms queries and keys and also what attention and FFN give.
Q4Rule default_q4_rule(const ModelDesc& desc) {
  return desc.qk_norm && desc.post_norms ? Q4Rule::round : Q4Rule::search;
}

std::optional<KeptStorage> kept_storage(const Model& model) {
  KeptStorage kept{.type = Encoding::q8_0, .scales = ScaleType::f16};
  bool any = false;
  std::uint32_t q4_classes = 0;
  std::uint32_t other_classes = 0;
  for (const Tensor& tensor : model.tensors()) {
    const std::uint32_t bit = mlb_q8_class(tensor.role);
    const TensorView& view = tensor.view;
    if (bit == 0) continue;
    any = any || encoding_info(view.encoding).quantized;
    if (view.scale_type == ScaleType::f32) kept.scales = ScaleType::f32;
    (view.encoding == Encoding::q4_0 ? q4_classes : other_classes) |= bit;
  }
  if (!any) return std::nullopt;
  if (q4_classes != 0) {
    kept.type = Encoding::q4_0;
    kept.q8_mask = other_classes;
  }
  return kept;
}

}  // namespace ml
