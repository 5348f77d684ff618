#pragma once

#include <ml/session.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ml {

/// Several sequences through one model. What is evaluated together reads the weights once, and gives every
/// sequence the bits that it would have alone. Not thread-safe.
class ML_API MultiSession {
 public:
  /// @param options      ctx is that of each sequence
  /// @param n_sequences  at least 1
  /// @error limit, nomem
  static Result<MultiSession> create(const Model& model, const SessionOptions& options,
                                     std::uint32_t n_sequences);

  MultiSession(MultiSession&&) noexcept;
  MultiSession& operator=(MultiSession&&) noexcept;
  ~MultiSession();

  /// The next tokens of one sequence, at least one.
  struct Input {
    std::uint32_t sequence;
    std::span<const std::uint32_t> tokens;
  };

  /// @error arg, limit  the tokens cannot follow the sequence; see Session::eval
  Result<void> check(const Input& input) const;

  /// Appends tokens to some sequences.
  ///
  /// @param inputs  no sequence twice
  /// @return        logits of each input's last token, vocab floats each, in the order of the inputs; valid
  /// until the
  ///                next call
  /// @error arg, limit  as check(); nothing was evaluated
  Result<std::vector<std::span<const float>>> eval(std::span<const Input> inputs);

  /// Forgets the tokens of one sequence.
  void reset(std::uint32_t sequence);

  std::uint32_t n_sequences() const;
  std::uint32_t position(std::uint32_t sequence) const;
  std::uint32_t ctx() const;

 private:
  struct Impl;
  explicit MultiSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ml
