#include "runtime/routed_experts.hpp"

#include "util/try.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ml {

Result<RoutedExperts> RoutedExperts::create(const Model& model, const SessionOptions& options,
                                            const Kind& kind) {
  RoutedExperts result;
  const ModelDesc& desc = model.desc();
  result.kind_ = kind;
  result.n_experts_ = role_count(desc, kind.expert);
  result.factor_ = desc.mixture.factor;
  result.layers_.resize(desc.n_layers());
  bool any = false;
  for (std::uint32_t i = 0; i < desc.n_layers(); ++i) {
    if (!desc.layers[i].sparse) continue;
    any = true;
    result.layers_[i] = {matrix_of(model, kind.router, i), decode_tensor(model, kind.bias, i)};
  }
  if (!any) return result;
  const std::uint64_t batch = options.batch;
  result.ones_.assign(result.n_experts_, 1.0f);
  ML_TRY(result.logits_, AlignedBuffer<float>::allocate(batch * result.n_experts_));
  ML_TRY(result.gathered_, Operand::create(batch, desc.dim));
  result.choices_.resize(batch * kind.n_chosen);
  result.uses_.resize(batch * kind.n_chosen);
  result.firsts_.resize(result.n_experts_ + 1ull);
  return result;
}

void RoutedExperts::choose(const Workspace& workspace, const Layer& layer, std::uint64_t token,
                           Scratch& scratch) {
  const float* logits = logits_.data() + token * n_experts_;
  std::vector<float>& scores = scratch.scores;
  scores = ones_;
  workspace.table.sigmoid_mul(scores.data(), logits, n_experts_);
  const auto rank = [&](std::uint32_t expert) {
    const float sum = scores[expert] + layer.bias[expert];
    return sum == sum ? sum
                      : -std::numeric_limits<float>::infinity();  // an order even where weights are not sound
  };
  std::vector<std::uint32_t>& ids = scratch.ids;
  std::iota(ids.begin(), ids.end(), 0u);
  std::partial_sort(
      ids.begin(), ids.begin() + kind_.n_chosen, ids.end(),
      [&](std::uint32_t a, std::uint32_t b) { return rank(a) != rank(b) ? rank(a) > rank(b) : a < b; });
  float sum = 0;
  for (std::uint32_t i = 0; i < kind_.n_chosen; ++i) sum += scores[ids[i]];
  Choice* choices = choices_.data() + token * kind_.n_chosen;
  for (std::uint32_t i = 0; i < kind_.n_chosen; ++i) choices[i] = {ids[i], scores[ids[i]] / sum * factor_};
}

void RoutedExperts::sort_by_expert(std::uint64_t n_tokens) {
  std::fill(firsts_.begin(), firsts_.end(), 0u);
  const std::uint64_t n = n_tokens * kind_.n_chosen;
  for (std::uint64_t i = 0; i < n; ++i) ++firsts_[choices_[i].expert + 1];
  std::partial_sum(firsts_.begin(), firsts_.end(), firsts_.begin());
  std::vector<std::uint32_t> next(firsts_.begin(), firsts_.end() - 1);
  for (std::uint64_t i = 0; i < n; ++i) {
    const Choice& choice = choices_[i];
    uses_[next[choice.expert]++] = {static_cast<std::uint32_t>(i / kind_.n_chosen), choice.weight};
  }
}

void RoutedExperts::report(Workspace& workspace, std::uint32_t layer, const Batch& batch) const {
  if (!workspace.routes) return;
  std::vector<std::uint32_t> experts(kind_.n_chosen);
  std::vector<float> weights(kind_.n_chosen);
  for (std::uint64_t token = 0; token < batch.n_tokens(); ++token) {
    for (std::uint32_t i = 0; i < kind_.n_chosen; ++i) {
      const Choice& choice = choices_[token * kind_.n_chosen + i];
      experts[i] = choice.expert;
      weights[i] = choice.weight;
    }
    workspace.routes({.layer = layer,
                      .position = batch.position(token),
                      .values = kind_.expert == Role::v_expert,
                      .experts = experts,
                      .weights = weights});
  }
}

void RoutedExperts::route(Workspace& workspace, std::uint32_t layer_index, const Batch& batch) {
  const Layer& layer = layers_[layer_index];
  const Product product[] = {{layer.router, logits_.data(), n_experts_}};
  workspace.multiply(workspace.input, batch.n_tokens(), product);
  if (scratch_.empty())
    scratch_.assign(workspace.pool.n_threads(), {ones_, std::vector<std::uint32_t>(n_experts_)});
  constexpr std::uint64_t kGrain = 4;
  workspace.pool.run_threads(batch.n_tokens(), kGrain,
                             [&](unsigned thread, std::uint64_t begin, std::uint64_t end) {
                               for (std::uint64_t token = begin; token < end; ++token)
                                 choose(workspace, layer, token, scratch_[thread]);
                             });
  sort_by_expert(batch.n_tokens());
  report(workspace, layer_index, batch);
}

std::vector<RoutedExperts::Choice> RoutedExperts::of_one_token() const {
  std::vector<Choice> choices(choices_.begin(), choices_.begin() + kind_.n_chosen);
  std::sort(choices.begin(), choices.end(),
            [](const Choice& a, const Choice& b) { return a.expert < b.expert; });
  return choices;
}

void RoutedExperts::for_each(
    Workspace& workspace,
    const std::function<void(std::uint32_t expert, Operand& x, std::span<const Use> uses)>& job) {
  for (std::uint32_t expert = 0; expert < n_experts_; ++expert) {
    const auto uses =
        std::span<const Use>(uses_).subspan(firsts_[expert], firsts_[expert + 1] - firsts_[expert]);
    if (uses.empty()) continue;
    workspace.for_tokens(uses.size(), [&](std::uint64_t i) {
      std::copy_n(workspace.input.row(uses[i].token), gathered_.cols(), gathered_.row(i));
    });
    job(expert, gathered_, uses);
  }
}

}  // namespace ml
