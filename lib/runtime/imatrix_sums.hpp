#pragma once

#include <ml/imatrix.hpp>

#include "runtime/operand.hpp"
#include "util/thread_pool.hpp"

#include <cstdint>
#include <vector>

namespace ml {

/// The part of an importance matrix that is under way.
struct ImatrixCollector::Impl {
  Imatrix total;
  Imatrix part;  ///< since the last accept()

  /// Adds the squares of the inputs of tokens [0, n_tokens), in their order. x may have fewer channels than
  /// the .mlb of its model: the others stay 0.
  void add(ThreadPool& pool, std::uint32_t layer, ImatrixInput input, const Operand& x,
           std::uint64_t n_tokens);
};

}  // namespace ml
