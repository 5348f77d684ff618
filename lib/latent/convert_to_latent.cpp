#include <ml/latent.hpp>

#include "latent/calibration.hpp"
#include "latent/compare.hpp"
#include "latent/latent_basis.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

namespace ml {

namespace {

constexpr std::uint32_t kTokensCompared = 256;

// Shares of the progress: calibration, fits, comparisons.
constexpr double kCalibrated = 0.3;
constexpr double kFitted = 0.8;

Dense decode(const Model& model, Role role, std::uint32_t layer) {
  const TensorView& view = model.find(role, layer)->view;
  Dense matrix(view.rows, view.cols);
  std::vector<float> row(view.cols);
  for (std::uint64_t r = 0; r < view.rows; ++r) {
    decode_row(view, r, row);
    std::copy(row.begin(), row.end(), matrix.row(r));
  }
  return matrix;
}

// Columns [first, first + n); past those that are there, zeros.
Dense columns(const Dense& matrix, std::uint64_t first, std::uint64_t n) {
  Dense part(matrix.rows, n);
  for (std::uint64_t r = 0; r < matrix.rows && first < matrix.cols; ++r)
    std::copy_n(matrix.row(r) + first, std::min(n, matrix.cols - first), part.row(r));
  return part;
}

// The weights of a layer over what its calibration is of: x or, in sparse layers, [x; v], where values are v.
HeadWeights heads_of(const Model& model, std::uint32_t layer) {
  const ModelDesc& desc = model.desc();
  HeadWeights heads{.n_heads = desc.n_heads,
                    .n_kv_heads = desc.n_kv_heads,
                    .wq = decode(model, Role::wq, layer),
                    .wk = decode(model, Role::wk, layer),
                    .wv = {}};
  if (!desc.layers[layer].sparse) {
    heads.wv = decode(model, Role::wv, layer);
    return heads;
  }
  const std::uint64_t width = std::uint64_t(desc.dim) + desc.kv_dim();
  heads.wq = columns(heads.wq, 0, width);
  heads.wk = columns(heads.wk, 0, width);
  heads.wv = Dense(desc.kv_dim(), width);
  for (std::uint64_t i = 0; i < desc.kv_dim(); ++i) heads.wv.at(i, desc.dim + i) = 1;
  return heads;
}

Result<void> round_to_bf16(const Dense& matrix, LatentTensor& tensor) {
  tensor.bf16.resize(2 * matrix.values.size());
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    const auto value = static_cast<float>(matrix.values[i]);
    if (!std::isfinite(value)) {
      return Error{.status = Status::format, .message = "came out not finite", .tensor = tensor.name};
    }
    store_le(tensor.bf16.data() + 2 * i, f32_to_bf16(value));
  }
  return {};
}

class Converter {
 public:
  Converter(const Model& model, const LatentOptions& options, LatentConversion conversion)
      : model_(model),
        options_(options),
        result_(std::move(conversion)),
        pool_(options.threads != 0 ? options.threads : available_threads()) {}

  Result<LatentConversion> convert() {
    ML_CHECK(check_tokens());
    ML_CHECK(fit());
    ML_CHECK(measure());
    return std::move(result_);
  }

 private:
  void tell(double share) const {
    if (options_.progress) options_.progress(share);
  }

  Result<void> check_tokens() const {
    if (options_.tokens.size() < 2) {
      return Error{
          .status = Status::arg,
          .message = fmt::format("{} token to calibrate with, must be 2 at least", options_.tokens.size())};
    }
    for (const std::uint32_t token : options_.tokens) {
      if (token < model_.desc().vocab) continue;
      return Error{.status = Status::arg,
                   .message = fmt::format("token to calibrate with is {}, must be below the vocabulary of {}",
                                          token, model_.desc().vocab)};
    }
    return {};
  }

  Result<void> fit() {
    std::vector<bool> wanted;
    for (const std::uint32_t rank : result_.ranks) wanted.push_back(rank != 0);
    const double n_tokens = static_cast<double>(options_.tokens.size());
    ML_TRY(Calibration calibration,
           calibrate(
               model_, options_.tokens, wanted,
               {.threads = options_.threads, .target = options_.target, .progress = [&](std::uint64_t done) {
                  tell(kCalibrated * static_cast<double>(done) / n_tokens);
                }}));
    result_.report.n_tokens = options_.tokens.size();
    const RopeDesc& rope = model_.desc().rope;
    const double factor = rope.type == RopeType::yarn ? static_cast<double>(rope.attn_factor) : 1.0;
    const auto n_layers = static_cast<double>(std::count(wanted.begin(), wanted.end(), true));
    for (std::uint32_t layer = 0; layer < wanted.size(); ++layer) {
      if (!wanted[layer]) continue;
      const bool rotates = !model_.desc().layers[layer].no_rope;
      const auto done = static_cast<double>(result_.report.layers.size());
      const LatentWeights weights = fit_latent(
          pool_, heads_of(model_, layer), calibration[layer], result_.ranks[layer],
          rotates ? factor * factor : 1,
          [&](double share) { tell(kCalibrated + (kFitted - kCalibrated) * (done + share) / n_layers); });
      calibration[layer] = Dense();
      for (LatentTensor& tensor : result_.tensors) {
        if (tensor.layer == layer) ML_CHECK(round_to_bf16(weights_of(tensor.role, weights), tensor));
      }
      result_.report.layers.push_back({.layer = layer,
                                       .rank = result_.ranks[layer],
                                       .rotation_lost = weights.rotation_lost,
                                       .latent_lost = weights.latent_lost});
    }
    return {};
  }

  Dense weights_of(Role role, const LatentWeights& weights) const {
    const ModelDesc& desc = model_.desc();
    switch (role) {
      case Role::kv_a_x: return columns(weights.kv_a_x, 0, desc.dim);
      case Role::kv_a_v: return columns(weights.kv_a_x, desc.dim, desc.kv_dim());
      case Role::k_rope_proj: return columns(weights.k_rope_proj, 0, desc.dim);
      case Role::q_rope_mix: return weights.q_rope_mix;
      case Role::q_lat: return weights.q_lat;
      default: return weights.v_up;
    }
  }

  // The model with one of its layers converted, or, for kNoLayer, all that are to be. Its views are of model_
  // and result_.
  Result<Model> converted(std::uint32_t only) const {
    const auto goes = [&](std::uint32_t layer) {
      return layer < result_.ranks.size() && result_.ranks[layer] != 0 && (only == kNoLayer || only == layer);
    };
    ModelDesc desc = model_.desc();
    for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
      if (!goes(i)) continue;
      desc.layers[i].kind = LayerKind::latent_attention;
      desc.layers[i].rank = result_.ranks[i];
    }
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : model_.tensors()) {
      const bool dropped = goes(tensor.layer) && (tensor.role == Role::wk || tensor.role == Role::wv);
      if (!dropped) tensors.push_back(tensor);
    }
    for (const LatentTensor& tensor : result_.tensors) {
      if (!goes(tensor.layer)) continue;
      const Shape shape = role_shape(desc, tensor.role, tensor.layer);
      tensors.push_back(
          {tensor.role,
           tensor.layer,
           tensor.name,
           {.encoding = Encoding::bf16, .rows = shape.rows, .cols = shape.cols, .data = tensor.bf16}});
    }
    return Model::assemble(std::move(desc), std::move(tensors), {});
  }

  Result<void> measure() {
    const SessionOptions session{.activations = Activations::f32,
                                 .kv = KvType::f32,
                                 .threads = options_.threads,
                                 .target = options_.target};
    ML_TRY(const LogitsBase base, LogitsBase::create(model_, options_.tokens, kTokensCompared, session));
    LatentReport& report = result_.report;
    for (std::size_t i = 0; i < report.layers.size(); ++i) {
      ML_TRY(const Model model, converted(report.layers[i].layer));
      ML_TRY(const EvaluationSums sums, base.compare(model));
      report.layers[i].kl = sums.kl().mean;
      tell(kFitted +
           (1 - kFitted) * static_cast<double>(i + 1) / static_cast<double>(report.layers.size() + 1));
    }
    ML_TRY(const Model model, converted(kNoLayer));
    ML_TRY(const EvaluationSums sums, base.compare(model));
    report.n_scored = sums.n_tokens();
    report.kl = sums.kl().mean;
    report.perplexity = sums.perplexity().mean;
    report.base_perplexity = sums.base_perplexity().mean;
    tell(1);
    return {};
  }

  const Model& model_;
  const LatentOptions& options_;
  LatentConversion result_;
  ThreadPool pool_;
};

}  // namespace

Result<LatentConversion> convert_to_latent(const Model& model, const LatentOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  try {
    ML_TRY(LatentConversion plan, plan_latent(model, options.ranks));
    ML_TRY(LatentConversion conversion, Converter(model, options, std::move(plan)).convert());
    conversion.report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return conversion;
  } catch (const std::bad_alloc&) {
    return Error{.status = Status::nomem, .message = "not enough memory to convert"};
  }
}

}  // namespace ml
