#pragma once

#include "runtime/sequence.hpp"
#include "runtime/workspace.hpp"

namespace ml {

/// cos and sin of the positions of a batch, for the frequencies that a model's layers use.
class RopeAngles {
 public:
  /// @error nomem
  static Result<RopeAngles> create(const ModelDesc& desc, std::uint64_t batch);

  /// Once before the layers of a batch.
  void prepare(Workspace& workspace, const Batch& batch);
  /// Rotates one head of a token in place, as its layer does.
  void rotate(const LayerDesc& layer, std::uint64_t token, float* head) const;

  std::uint64_t n_bytes() const;

 private:
  struct Angles {
    std::vector<double> frequencies;
    RopeDesc rope;
    AlignedBuffer<float> values;  // [batch][2][pairs]: cosines, sines
  };
  std::vector<Angles> angles_;  // of rope.theta, then of rope.local_theta where a layer wants it
};

}  // namespace ml
