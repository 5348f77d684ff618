#pragma once

#include "runtime/sequence.hpp"
#include "runtime/workspace.hpp"

#include <functional>
#include <span>
#include <vector>

namespace ml {

/// The router of a mixture (nanoseedlm(5), MOVA), and the tokens of a batch sorted by the experts that it
/// chose for them. Only these experts are touched.
class RoutedExperts {
 public:
  /// Which of the two mixtures of a layer.
  struct Kind {
    Role router;
    Role bias;
    Role expert;  ///< any of its roles
    std::uint32_t n_chosen;
  };

  /// @param model    stays alive as long as the result
  /// @error nomem
  static Result<RoutedExperts> create(const Model& model, const SessionOptions& options, const Kind& kind);

  /// Chooses the experts of each token of a batch by workspace.input: those with the largest
  /// sigmoid(router x) + bias, the lower one where two are equal. Their weights are the sigmoids, made to sum
  /// up to MixtureDesc::factor.
  void route(Workspace& workspace, std::uint32_t layer, const Batch& batch);

  /// One token that an expert was chosen for.
  struct Use {
    std::uint32_t token;  ///< row of the batch
    float weight;
  };
  /// Calls job(expert, x, uses) for each expert that was chosen, in ascending order: row i of x is
  /// workspace.input of uses[i].token; tokens ascend.
  void for_each(Workspace& workspace,
                const std::function<void(std::uint32_t expert, Operand& x, std::span<const Use> uses)>& job);

  struct Choice {
    std::uint32_t expert;
    float weight;
  };
  /// Those of a batch of one token, in ascending order of the experts: so few rows that all of them are best
  /// multiplied in one pass.
  std::vector<Choice> of_one_token() const;

  std::uint64_t scratch_bytes() const { return logits_.n_bytes() + gathered_.n_bytes(); }

 private:
  struct Layer {
    const TensorView* router = nullptr;
    std::vector<float> bias;
  };

  // Memory of one thread.
  struct Scratch {
    std::vector<float> scores;       // [n_experts]
    std::vector<std::uint32_t> ids;  // [n_experts]
  };

  void choose(const Workspace& workspace, const Layer& layer, std::uint64_t token, Scratch& scratch);
  void sort_by_expert(std::uint64_t n_tokens);
  void report(Workspace& workspace, std::uint32_t layer, const Batch& batch) const;

  Kind kind_ = {};
  std::uint32_t n_experts_ = 0;
  float factor_ = 0;
  std::vector<Layer> layers_;
  std::vector<float> ones_;
  AlignedBuffer<float> logits_;        // [batch][n_experts]
  std::vector<Scratch> scratch_;       // of each thread
  std::vector<Choice> choices_;        // [batch][n_chosen], the best one first
  std::vector<std::uint32_t> firsts_;  // [n_experts + 1]: where an expert's uses begin
  std::vector<Use> uses_;              // [batch * n_chosen], by expert
  Operand gathered_;                   // [batch][dim]
};

}  // namespace ml
