#include "runtime/sequence.hpp"

#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

// Positions that a layer's cache holds: with a window its keys, and those of the batch that is being stored.
std::uint64_t cache_capacity(const ModelDesc& desc, const LayerDesc& layer, const SessionOptions& options) {
  if (!layer.windowed || desc.sliding_window == 0) return options.ctx;
  const std::uint64_t needed = std::uint64_t(desc.sliding_window) + options.batch + kernels::kKeyBlock;
  return std::min<std::uint64_t>(options.ctx, needed);
}

}  // namespace

Result<Sequence> Sequence::create(const ModelDesc& desc, const SessionOptions& options) {
  Sequence sequence;
  sequence.layers_.resize(desc.n_layers());
  const GatedDeltaDesc& linear = desc.linear;
  sequence.n_recurrent_ = linear.n_values() * linear.k_dim;
  const std::uint64_t n_history = linear.conv == 0 ? 0 : (linear.conv - 1ull) * linear.n_channels();
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    Layer& layer = sequence.layers_[i];
    switch (desc.layers[i].kind) {
      case LayerKind::attention:
      case LayerKind::latent_attention: {
        ML_TRY(layer.cache, KvCache::create(desc, desc.layers[i],
                                            cache_capacity(desc, desc.layers[i], options), *options.kv));
        break;
      }
      case LayerKind::gated_delta: {
        ML_TRY(layer.state, AlignedBuffer<float>::allocate(sequence.n_recurrent_ + n_history));
        break;
      }
    }
  }
  return sequence;
}

void Sequence::reset() {
  tokens.clear();
  mark_.reset();
  for (Layer& layer : layers_) std::fill_n(layer.state.data(), layer.state.size(), 0.0f);
}

Result<void> Sequence::mark() {
  if (mark_ == position()) return {};
  mark_.reset();
  for (Layer& layer : layers_) {
    if (layer.state.size() == 0) continue;
    if (layer.marked_state.size() == 0) {
      ML_TRY(layer.marked_state, AlignedBuffer<float>::allocate(layer.state.size()));
    }
    std::copy_n(layer.state.data(), layer.state.size(), layer.marked_state.data());
  }
  mark_ = position();
  return {};
}

Result<std::uint32_t> Sequence::rewind(std::uint32_t to) {
  if (to == position()) return to;
  if (!mark_ || to < *mark_ || to > position()) {
    return Error{
        .status = Status::arg,
        .message = fmt::format("a sequence of {} tokens cannot be rewound to {}{}", position(), to,
                               mark_ ? fmt::format(", its mark is at {}", *mark_) : ": it has no mark")};
  }
  // Rows of a cache past the end are written anew before they are read. States have no rows.
  for (Layer& layer : layers_) {
    if (layer.state.size() == 0) continue;
    to = *mark_;
    std::copy_n(layer.marked_state.data(), layer.state.size(), layer.state.data());
  }
  tokens.resize(to);
  return to;
}

std::uint64_t Sequence::n_bytes() const {
  std::uint64_t sum = 0;
  for (const Layer& layer : layers_)
    sum += layer.cache.n_bytes() + layer.state.n_bytes() + layer.marked_state.n_bytes();
  return sum;
}

}  // namespace ml
