#include "runtime/rope_angles.hpp"

#include "runtime/rope.hpp"
#include "util/try.hpp"

#include <algorithm>

namespace ml {

Result<RopeAngles> RopeAngles::create(const ModelDesc& desc, std::uint64_t batch) {
  RopeAngles result;
  const auto any = [&](auto predicate) {
    return std::any_of(desc.layers.begin(), desc.layers.end(), predicate);
  };
  if (!any([](const LayerDesc& layer) { return layer.kind != LayerKind::gated_delta; })) return result;
  std::vector<RopeDesc> ropes{desc.rope};
  if (any([](const LayerDesc& layer) { return layer.local_rope; })) {
    RopeDesc local = desc.rope;
    local.type = RopeType::plain;
    local.theta = desc.rope.local_theta;
    ropes.push_back(local);
  }
  for (const RopeDesc& rope : ropes) {
    Angles angles{.frequencies = rope_frequencies(rope), .rope = rope, .values = {}};
    ML_TRY(angles.values, AlignedBuffer<float>::allocate(batch * 2 * angles.frequencies.size()));
    result.angles_.push_back(std::move(angles));
  }
  return result;
}

void RopeAngles::prepare(Workspace& workspace, const Batch& batch) {
  for (Angles& angles : angles_) {
    const std::size_t n_pairs = angles.frequencies.size();
    workspace.for_tokens(batch.n_tokens(), [&](std::uint64_t token) {
      float* cosines = angles.values.data() + token * 2 * n_pairs;
      rope_angles(angles.rope, angles.frequencies, batch.position(token), {cosines, n_pairs},
                  {cosines + n_pairs, n_pairs});
    });
  }
}

void RopeAngles::rotate(const LayerDesc& layer, std::uint64_t token, float* head) const {
  if (layer.no_rope) return;
  const Angles& angles = angles_[layer.local_rope ? 1 : 0];
  const std::size_t n_pairs = angles.frequencies.size();
  const std::span<const float> cosines(angles.values.data() + token * 2 * n_pairs, n_pairs);
  rotate_head(angles.rope, cosines, {cosines.data() + n_pairs, n_pairs}, head);
}

std::uint64_t RopeAngles::n_bytes() const {
  std::uint64_t sum = 0;
  for (const Angles& angles : angles_) sum += angles.values.n_bytes();
  return sum;
}

}  // namespace ml
