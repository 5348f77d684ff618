#pragma once

#include <ml/export.hpp>
#include <ml/session.hpp>
#include <ml/status.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ml {

/// Guesses what may follow. A guess costs nothing but time: it never changes what is written.
class ML_API DraftSource {
 public:
  virtual ~DraftSource();
  /// @param tokens  the whole sequence so far
  /// @param n       tokens wanted at most
  /// @return        ids below the vocabulary, perhaps none
  virtual Result<std::vector<std::uint32_t>> propose(std::span<const std::uint32_t> tokens,
                                                     std::uint32_t n) = 0;
};

/// Guesses that what followed the same tokens earlier follows again: the longest match of the last 4 to 2
/// tokens, the latest of several; after the last token the guess goes on with itself.
class ML_API LookupDraft : public DraftSource {
 public:
  Result<std::vector<std::uint32_t>> propose(std::span<const std::uint32_t> tokens, std::uint32_t n) override;
};

/// Asks a smaller model for the tokens that it finds likeliest.
class ML_API ModelDraft : public DraftSource {
 public:
  /// @param options   of its session; a context that ends earlier than the sequence ends its guesses
  /// @error limit, nomem
  static Result<std::unique_ptr<ModelDraft>> create(const Model& model, const SessionOptions& options);
  Result<std::vector<std::uint32_t>> propose(std::span<const std::uint32_t> tokens, std::uint32_t n) override;

 private:
  explicit ModelDraft(Session session) : session_(std::move(session)) {}
  Session session_;
};

/// Steps of a session that are cheaper than one at a time: guessed tokens are read with each step in one
/// pass, which reads the weights once, and their logits are kept for the steps that follow. Batches change no
/// bit, so the logits are those of plain steps, and so is whatever is drawn from them in order.
class ML_API SpeculativeDecoder {
 public:
  /// Accepted tokens that a model with linear attention may have to read again, at most.
  static constexpr std::uint32_t kMaxAgain = 16;

  /// @param session    stays alive; with a batch of at least kMaxAgain + max_draft + 1
  /// @param source     stays alive
  /// @param max_draft  tokens guessed a pass, at least 1
  SpeculativeDecoder(Session& session, DraftSource& source, std::uint32_t max_draft);

  /// Appends a token. @return as Session::eval()  @error limit, arg
  Result<std::span<const float>> eval(std::uint32_t token);
  /// Leaves the session with the tokens of eval() alone. Nothing may follow.
  Result<void> finish();
  /// Tokens so far, without guesses.
  std::uint32_t position() const { return static_cast<std::uint32_t>(tokens_.size()); }

  std::uint64_t n_passes() const { return n_passes_; }
  std::uint64_t n_drafted() const { return n_drafted_; }
  std::uint64_t n_accepted() const { return n_accepted_; }

 private:
  Result<void> drop_draft();

  Session& session_;
  DraftSource& source_;
  std::uint32_t max_draft_;
  std::uint32_t wanted_;               ///< guesses of the next pass; follows how good the last were
  std::vector<std::uint32_t> tokens_;  ///< certain
  std::vector<std::uint32_t> draft_;   ///< guesses of the last pass
  std::size_t n_used_ = 0;             ///< of those that came true
  std::vector<float> rows_;            ///< [1 + draft][vocab] of the last pass
  std::size_t vocab_ = 0;
  std::uint64_t n_passes_ = 0;
  std::uint64_t n_drafted_ = 0;
  std::uint64_t n_accepted_ = 0;
};

}  // namespace ml
