#include "runtime/gated_delta.hpp"

#include "util/exact_math.hpp"
#include "util/try.hpp"

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

constexpr float kL2Eps = 1e-6f;
// Columns of a state that one thread takes at a time.
constexpr std::uint64_t kColumns = 64;

double sigmoid(double x) { return 1.0 / (1.0 + exact_exp(-std::clamp(x, -700.0, 700.0))); }

// log(1 + e^x) without cancellation or overflow.
double softplus(double x) {
  const double e = exact_exp(-std::min(std::fabs(x), 700.0));
  // log(1 + e): where e is too small for 1 + e to keep its digits, the series is exact enough.
  const double tail = e < 0x1p-26 ? e - 0.5 * e * e : exact_log(1.0 + e);
  return std::max(x, 0.0) + tail;
}

}  // namespace

Result<GatedDelta> GatedDelta::create(const Model& model, const SessionOptions& options) {
  GatedDelta result;
  const ModelDesc& desc = model.desc();
  result.desc_ = &desc;
  result.layers_.resize(desc.n_layers());
  const GatedDeltaDesc& linear = desc.linear;
  const std::uint64_t n_channels = linear.n_channels();
  bool any = false;
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (desc.layers[i].kind != LayerKind::gated_delta) continue;
    any = true;
    Layer& layer = result.layers_[i];
    layer.lqkv = matrix_of(model, Role::lqkv, i);
    layer.lz = matrix_of(model, Role::lz, i);
    layer.lb = matrix_of(model, Role::lb, i);
    layer.la = matrix_of(model, Role::la, i);
    layer.lout = matrix_of(model, Role::lout, i);
    layer.norm = decode_tensor(model, Role::lnorm, i);
    const std::vector<float> conv = decode_tensor(model, Role::lconv, i);
    layer.conv.resize(conv.size());
    for (std::uint64_t channel = 0; channel < n_channels; ++channel) {
      for (std::uint64_t tap = 0; tap < linear.conv; ++tap) {
        layer.conv[tap * n_channels + channel] = conv[channel * linear.conv + tap];
      }
    }
    for (const float bias : decode_tensor(model, Role::dt_bias, i)) layer.dt_bias.push_back(bias);
    for (const float a_log : decode_tensor(model, Role::a_log, i)) {
      layer.decay_rate.push_back(exact_exp(std::clamp(static_cast<double>(a_log), -700.0, 700.0)));
    }
  }
  if (!any) return result;
  const std::uint64_t batch = options.batch;
  ML_TRY(result.inputs_, AlignedBuffer<float>::allocate(batch * n_channels));
  ML_TRY(result.mixed_, AlignedBuffer<float>::allocate(batch * n_channels));
  ML_TRY(result.beta_, AlignedBuffer<float>::allocate(batch * linear.v_heads));
  ML_TRY(result.decay_, AlignedBuffer<float>::allocate(batch * linear.v_heads));
  ML_TRY(result.out_, AlignedBuffer<float>::allocate(batch * linear.n_values()));
  ML_TRY(result.gated_, Operand::create(batch, linear.n_values()));
  return result;
}

void GatedDelta::project(Workspace& workspace, const Layer& layer, std::uint64_t n_tokens) {
  const GatedDeltaDesc& linear = desc_->linear;
  const std::uint64_t n_channels = linear.n_channels();
  const Product products[] = {{layer.lqkv, inputs_.data(), n_channels},
                              {layer.lz, gated_.row(0), gated_.stride()},
                              {layer.lb, beta_.data(), linear.v_heads},
                              {layer.la, decay_.data(), linear.v_heads}};
  workspace.multiply(workspace.input, n_tokens, products);
}

// Convolution and SiLU of one token's channels, the L2 norms of its queries and keys, its betas and decays.
// Inputs before the run's first row come from the history of its sequence.
void GatedDelta::shape_token(Workspace& workspace, const Layer& layer, const float* history,
                             std::uint64_t token, std::uint64_t first) {
  const GatedDeltaDesc& linear = desc_->linear;
  const std::uint64_t n_channels = linear.n_channels();
  const std::uint64_t n_earlier = linear.conv - 1;
  std::vector<const float*> taps(linear.conv);
  for (std::uint64_t tap = 0; tap < linear.conv; ++tap) {
    const std::uint64_t row = token - first + tap;  // counted from the oldest row of the history
    taps[tap] = row < n_earlier ? history + row * n_channels
                                : inputs_.data() + (first + row - n_earlier) * n_channels;
  }
  float* mixed = mixed_.data() + token * n_channels;
  workspace.table.conv_silu(taps.data(), layer.conv.data(), linear.conv, n_channels, mixed);
  const float query_factor = 1.0f / std::sqrt(static_cast<float>(linear.k_dim));
  for (std::uint64_t head = 0; head < 2ull * linear.k_heads; ++head) {
    workspace.table.l2_norm(mixed + head * linear.k_dim, linear.k_dim, kL2Eps,
                            head < linear.k_heads ? query_factor : 1.0f);
  }
  for (std::uint64_t head = 0; head < linear.v_heads; ++head) {
    float& beta = beta_.data()[token * linear.v_heads + head];
    float& decay = decay_.data()[token * linear.v_heads + head];
    beta = static_cast<float>(sigmoid(beta));
    const double g = -layer.decay_rate[head] * softplus(decay + layer.dt_bias[head]);
    decay = static_cast<float>(exact_exp(std::max(g, -700.0)));
  }
}

void GatedDelta::convolve(Workspace& workspace, std::uint32_t layer, const Batch& batch) {
  const std::uint64_t n_channels = desc_->linear.n_channels();
  const std::uint64_t n_earlier = desc_->linear.conv - 1;
  workspace.for_tokens(batch.n_tokens(), [&](std::uint64_t token) {
    const Run& run = batch.run_of(token);
    shape_token(workspace, layers_[layer], run.sequence->history(layer), token, run.first);
  });
  for (const Run& run : batch.runs()) {
    float* history = run.sequence->history(layer);
    const std::uint64_t n_new = std::min(run.n_tokens, n_earlier);
    std::copy(history + n_new * n_channels, history + n_earlier * n_channels, history);
    std::copy_n(inputs_.data() + (run.first + run.n_tokens - n_new) * n_channels, n_new * n_channels,
                history + (n_earlier - n_new) * n_channels);
  }
}

void GatedDelta::recur(Workspace& workspace, std::uint32_t layer, const Batch& batch) {
  const GatedDeltaDesc& linear = desc_->linear;
  const std::uint64_t n_channels = linear.n_channels();
  const std::uint64_t n_keys = std::uint64_t(linear.k_heads) * linear.k_dim;
  const std::uint64_t n_pieces = (linear.v_dim + kColumns - 1) / kColumns;
  const std::uint64_t n_items = linear.v_heads * n_pieces;  // of one run
  const auto recur_piece = [&](const Run& run, std::uint64_t item) {
    const std::uint64_t head = item / n_pieces;
    const std::uint64_t first = item % n_pieces * kColumns;
    const std::uint64_t last = std::min<std::uint64_t>(linear.v_dim, first + kColumns);
    const std::uint64_t key_head = head / (linear.v_heads / linear.k_heads);
    for (std::uint64_t token = run.first; token < run.first + run.n_tokens; ++token) {
      const float* row = mixed_.data() + token * n_channels;
      workspace.table.delta_step(
          {.state = run.sequence->recurrent(layer) + head * linear.k_dim * linear.v_dim,
           .query = row + key_head * linear.k_dim,
           .key = row + n_keys + key_head * linear.k_dim,
           .value = row + 2 * n_keys + head * linear.v_dim,
           .k_dim = linear.k_dim,
           .v_dim = linear.v_dim,
           .decay = decay_.data()[token * linear.v_heads + head],
           .beta = beta_.data()[token * linear.v_heads + head],
           .out = out_.data() + token * linear.n_values() + head * linear.v_dim},
          first, last);
    }
  };
  constexpr std::uint64_t kWorthAThread = 1u << 15;
  const std::uint64_t n_all = n_items * batch.runs().size();
  const bool little = batch.n_tokens() * linear.n_values() * linear.k_dim < kWorthAThread;
  workspace.pool.run(n_all, little ? n_all : 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) recur_piece(batch.runs()[i / n_items], i % n_items);
  });
}

void GatedDelta::gate(Workspace& workspace, const Layer& layer, std::uint64_t token) {
  const GatedDeltaDesc& linear = desc_->linear;
  float* out = out_.data() + token * linear.n_values();
  for (std::uint64_t head = 0; head < linear.v_heads; ++head) {
    float* values = out + head * linear.v_dim;
    workspace.table.rms_norm(values, layer.norm.data(), linear.v_dim, desc_->norm_eps, values);
  }
  workspace.table.silu_mul(gated_.row(token), out, linear.n_values());
}

void GatedDelta::run(Workspace& workspace, std::uint32_t layer, const Batch& batch) {
  const std::uint64_t n_tokens = batch.n_tokens();
  project(workspace, layers_[layer], n_tokens);
  convolve(workspace, layer, batch);
  recur(workspace, layer, batch);
  workspace.for_tokens(n_tokens, [&](std::uint64_t token) { gate(workspace, layers_[layer], token); });
  workspace.observe(layer, ImatrixInput::o, gated_, n_tokens);
  const Product output[] = {{layers_[layer].lout, workspace.delta(), desc_->dim}};
  workspace.multiply(gated_, n_tokens, output);
}

std::uint64_t GatedDelta::scratch_bytes() const {
  return inputs_.n_bytes() + mixed_.n_bytes() + beta_.n_bytes() + decay_.n_bytes() + out_.n_bytes() +
         gated_.n_bytes();
}

}  // namespace ml
