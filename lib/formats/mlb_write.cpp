#include "formats/mlb_write.hpp"

#include "util/checked.hpp"
#include "util/try.hpp"

namespace ml {

Result<MlbPlan> plan_mlb(const ModelDesc& desc, const MlbStorage& storage) {
  MlbPlan plan;
  ML_TRY(plan.header, make_mlb_header(desc, storage));
  plan.layer_flags = make_mlb_layer_flags(desc);
  if (auto error = lay_out_mlb(desc, storage, !plan.layer_flags.empty(), std::nullopt, plan.arrays)) {
    return *std::move(error);
  }
  plan.n_bytes = *Checked(plan.arrays.back().end()).round_up(kMlbAlignment).get();
  return plan;
}

Result<void> MlbWriter::write_header() {
  MlbHeader header = plan_.header;
  order_mlb_header(header);
  ML_CHECK(out_.write(std::as_bytes(std::span(&header, 1))));
  if (plan_.layer_flags.empty()) return {};
  ML_CHECK(out_.write(std::as_bytes(std::span(plan_.layer_flags))));
  return pad();
}

Result<void> MlbWriter::pad() {
  const std::uint64_t n = out_.position() - start_;
  return out_.write_zeros((kMlbAlignment - n % kMlbAlignment) % kMlbAlignment);
}

}  // namespace ml
