#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace ml {

/// A sum of doubles without rounding: it does not depend on the order of what was added, so that parts that
/// were summed apart can be joined. Bits below 2^-192 are cut off each number; magnitudes stop at 2^150.
class ML_API ExactSum {
 public:
  /// @param x  not NaN
  void add(double x);
  void add(const ExactSum& other);
  /// The sum, rounded to within a unit of the last place.
  double value() const;

  /// @return its exact value in units of 2^-192: hexadecimal digits, "-" before them where it is negative
  std::string text() const;
  /// False from a magnitude of 2^188 on, whose text parse() does not take.
  bool fits() const;
  /// @error format  not what text() gives
  static Result<ExactSum> parse(std::string_view text);

 private:
  static constexpr std::size_t kLimbs = 12;
  void carry();
  ExactSum magnitude(bool& negative) const;
  std::array<std::int64_t, kLimbs> limbs_{};  // 32 bits each, lowest first; carries wait in the upper halves
  std::uint32_t n_waiting_ = 0;
};

/// Tokens that agreement looks at.
inline constexpr std::size_t kTopTokens = 5;

/// What the logits of one position say of the token that follows.
struct TokenScore {
  double log_sum = 0;  ///< log of the sum of e^(logit - largest logit)
  double max = 0;      ///< the largest logit
  double nll = 0;      ///< -log of the token's probability, in nats
  /// The likeliest tokens, the likeliest first, the smaller id where two are equal; kNoTop past the
  /// vocabulary.
  std::array<std::uint32_t, kTopTokens> top{};
};
inline constexpr std::uint32_t kNoTop = UINT32_MAX;

/// Everything in double precision and in a fixed order: the same bits on every machine.
///
/// @param logits  vocab floats  @param token  below vocab
/// @error format  a logit is not finite; the message says which
/// @cost          one exponential a logit
ML_API Result<TokenScore> score_token(std::span<const float> logits, std::uint32_t token);

/// Kullback-Leibler divergence of two distributions over one vocabulary, in nats: the sum of p log(p / q).
/// Never negative, and 0 where the logits are equal.
///
/// @param base         finite logits of p
/// @param other        finite logits of q, as many
/// @param other_score  of `other`, for any token
/// @cost               one exponential a logit
ML_API double kl_divergence(std::span<const float> base, std::span<const float> other,
                            const TokenScore& other_score);

/// Part of a text that is read from an empty context. Row r of its logits predicts token begin + r + 1.
struct EvaluationWindow {
  std::uint64_t begin = 0;         ///< of its first input among the text's tokens
  std::uint32_t n_inputs = 0;      ///< tokens that it reads
  std::uint32_t first_scored = 0;  ///< rows before this one only give context
};

/// Cuts a text of n_tokens into windows of ctx inputs, one every `stride` tokens. Every token but the first
/// is scored once, by the first window that reads the token before it.
class ML_API EvaluationWindows {
 public:
  /// @param n_tokens  at least 2  @param stride  1 to ctx
  EvaluationWindows(std::uint64_t n_tokens, std::uint32_t ctx, std::uint32_t stride)
      : n_tokens_(n_tokens), ctx_(ctx), stride_(stride) {}
  std::uint64_t size() const;
  EvaluationWindow operator[](std::uint64_t index) const;

 private:
  std::uint64_t n_tokens_;
  std::uint32_t ctx_, stride_;
};

/// A mean and the standard error of it.
struct Estimate {
  double mean = 0;
  double error = 0;
};

/// Sums over tokens, which can be joined in any order with the same result to the bit.
class ML_API EvaluationSums {
 public:
  /// What is known of the tokens with [2^i, 2^(i + 1)) tokens before them (i = 0: also none) in their window.
  struct Positions {
    std::uint64_t n_tokens = 0;
    std::uint64_t n_same_top = 0;
    ExactSum nll, kl;
  };
  static constexpr std::size_t kPositionClasses = 32;
  static constexpr std::uint64_t kMaxTokens = std::uint64_t(1) << 53;  ///< of sums that are joined

  /// Adds a token. @param n_before  tokens of its window before it
  void add(std::uint32_t n_before, const TokenScore& score);
  /// The same where a base's score of that token and the divergence from it are known. A sum holds tokens of
  /// one of the two kinds only.
  void add(std::uint32_t n_before, const TokenScore& score, const TokenScore& base, double kl);
  /// @error arg    one compares with a base, the other does not
  /// @error limit  more than kMaxTokens together, or a sum of 2^188 or more; nothing is changed
  Result<void> merge(const EvaluationSums& other);

  std::uint64_t n_tokens() const { return n_tokens_; }
  bool compared() const { return compared_; }
  Estimate nll() const;
  Estimate perplexity() const;  ///< infinite where no double holds it
  // The rest is 0 unless compared().
  Estimate base_nll() const;
  Estimate base_perplexity() const;
  Estimate perplexity_ratio() const;  ///< over the base's; its error knows that both read the same tokens
  Estimate kl() const;
  /// Nearest rank, from classes less than 0.8 % wide. @param share  0 to 1
  double kl_quantile(double share) const;
  double kl_max() const { return kl_max_; }
  Estimate top_agreement() const;   ///< share of tokens with the same likeliest one
  Estimate top5_agreement() const;  ///< share of the base's five likeliest that are among the five likeliest
  Estimate probability_change() const;    ///< of the token that came
  double probability_change_rms() const;  ///< of the same
  std::span<const Positions> positions() const { return positions_; }

  /// @return a JSON object with everything, for parse() and merge()
  std::string to_json() const;
  /// @error format  not what to_json() gives; the message names the key
  static Result<EvaluationSums> parse(std::string_view json);

 private:
  struct Moments {
    ExactSum sum, squares;
    void add(double x);
    void add(const Moments& other);
    bool fits() const { return sum.fits() && squares.fits(); }
  };
  Estimate estimate(const Moments& moments) const;
  void add(const EvaluationSums& other);
  bool fits() const;

  std::uint64_t n_tokens_ = 0;
  bool compared_ = false;
  Moments nll_, base_nll_, log_ratio_, kl_, change_, top5_;
  std::uint64_t n_same_top_ = 0;
  double kl_max_ = 0;
  std::map<std::uint32_t, std::uint64_t> kl_classes_;  // upper half of the float32's bits -> tokens
  std::array<Positions, kPositionClasses> positions_{};
};

}  // namespace ml
