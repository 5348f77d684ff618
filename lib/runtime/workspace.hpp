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

/// Is shown what the attention of each layer reads: rows of tokens [0, n_tokens), which come in order.
using InputWatcher = std::function<void(std::uint32_t layer, const Operand& x, std::uint64_t n_tokens)>;

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
  void multiply(Operand& x, std::uint64_t n_tokens, std::span<const Product> products) {
    ml::multiply(pool, table, activations, scratch, x, n_tokens, products);
  }
  /// Shows the inputs of a matrix, before it is multiplied, to who collects statistics of them.
  void observe(std::uint32_t layer, ImatrixInput input_of, const Operand& x, std::uint64_t n_tokens) {
    if (sums != nullptr) sums->add(pool, layer, input_of, x, n_tokens);
    if (watcher && input_of == ImatrixInput::qkv) watcher(layer, x, n_tokens);
  }
  /// hidden += delta, normalized before where post_norm is not empty.
  void add_delta(std::span<const float> post_norm, std::uint64_t n_tokens);

  float* hidden(std::uint64_t token) { return hidden_.data() + token * dim_; }
  float* delta() { return delta_.data(); }
  ThreadScratch scratch;
  ImatrixCollector::Impl* sums = nullptr;  ///< null: nobody collects
  InputWatcher watcher;                    ///< empty: nobody looks
  Operand input;                           ///< [batch][dim]: the normalized stream, what a layer multiplies

  std::uint64_t n_bytes() const {
    return input.n_bytes() + hidden_.n_bytes() + delta_.n_bytes() + scratch.n_bytes();
  }

 private:
  Workspace(const ModelDesc& desc, const SessionOptions& options);

  std::uint64_t dim_;
  float norm_eps_;
  AlignedBuffer<float> hidden_;  // [batch][dim]
  AlignedBuffer<float> delta_;   // [batch][dim]: what a half layer adds
};

/// A tensor of a model, decoded to floats; empty where the model has none.
std::vector<float> decode_tensor(const Model& model, Role role, std::uint32_t layer);

/// The view of a matrix that the model has.
const TensorView* matrix_of(const Model& model, Role role, std::uint32_t layer);

}  // namespace ml
