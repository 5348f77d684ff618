#pragma once

#include <ml/session.hpp>

#include "kernels/table.hpp"
#include "runtime/imatrix_sums.hpp"
#include "runtime/operand.hpp"
#include "util/aligned_buffer.hpp"
#include "util/thread_pool.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace ml {

/// Is shown what each layer of ordinary attention reads, and the values that it makes of it (kv_dim floats a
/// token, `stride` apart): of tokens [0, n_tokens), which come in order.
using InputWatcher = std::function<void(std::uint32_t layer, const Operand& x, const float* values,
                                        std::uint64_t stride, std::uint64_t n_tokens)>;

/// What all layers of a session share: kernels, threads, and the residual stream of the batch under way.
class Workspace {
 public:
  /// @error nomem
  static Result<std::unique_ptr<Workspace>> create(const Model& model, const SessionOptions& options);

  const kernels::Table& table;
  const Activations activations;
  ThreadPool pool;

  /// Calls job(token) for each token of a batch; short batches wake no thread.
  void for_tokens(std::uint64_t n_tokens, const std::function<void(std::uint64_t)>& job);
  /// input = rms_norm(hidden), token by token.
  void normalize(std::span<const float> weight, std::uint64_t n_tokens);
  /// The same for some rows of hidden, which become rows 0, 1, ... of input.
  void normalize_rows(std::span<const float> weight, std::span<const std::uint64_t> rows);
  /// The kernel that multiplies the output of attention with its gate.
  auto gate_kernel(GateFunction function) const {
    return function == GateFunction::softplus ? table.softplus_mul : table.sigmoid_mul;
  }
  void multiply(Operand& x, std::uint64_t n_tokens, std::span<const Product> products) {
    ml::multiply(pool, table, activations, scratch, x, n_tokens, products);
  }
  /// Shows the inputs of a matrix, before it is multiplied, to who collects an importance matrix.
  void observe(std::uint32_t layer, ImatrixInput input_of, const Operand& x, std::uint64_t n_tokens) {
    if (sums != nullptr) sums->add(pool, layer, input_of, x, n_tokens);
  }
  /// hidden += delta, normalized before where post_norm is not empty.
  void add_delta(std::span<const float> post_norm, std::uint64_t n_tokens);

  float* hidden(std::uint64_t token) { return hidden_.data() + token * dim_; }
  float* delta() { return delta_.data(); }
  ThreadScratch scratch;
  ImatrixCollector::Impl* sums = nullptr;  ///< null: nobody collects
  InputWatcher watcher;                    ///< empty: nobody looks
  RouteSink routes;                        ///< empty: nobody asks
  Operand input;                           ///< [batch][dim]: the normalized stream, what a layer multiplies

  std::uint64_t n_bytes() const {
    return input.n_bytes() + hidden_.n_bytes() + delta_.n_bytes() + scratch.n_bytes();
  }

 private:
  Workspace(const ModelDesc& desc, const SessionOptions& options);

  /// out = rms_norm(x), the model's groups each by itself.
  void norm_row(const float* x, std::span<const float> weight, float* out) const;

  std::uint64_t dim_;
  std::uint64_t norm_groups_;
  float norm_eps_;
  AlignedBuffer<float> hidden_;  // [batch][dim]
  AlignedBuffer<float> delta_;   // [batch][dim]: what a half layer adds
};

/// A tensor of a model, decoded to floats; empty where the model has none.
std::vector<float> decode_tensor(const Model& model, Role role, std::uint32_t layer);

/// to += factor * from
inline void add_scaled(float* to, const float* from, float factor, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

bool has_sparse_layer(const ModelDesc& desc);

/// The view of a matrix that the model has.
const TensorView* matrix_of(const Model& model, Role role, std::uint32_t layer);

}  // namespace ml
