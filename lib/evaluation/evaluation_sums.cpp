#include <ml/evaluation.hpp>

#include "util/exact_math.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <utility>

namespace ml {

namespace {

std::size_t position_class(std::uint32_t n_before) {
  return n_before == 0 ? 0 : static_cast<std::size_t>(std::bit_width(n_before)) - 1;
}

// Classes of the upper half of a float32's bits: 128 of them where a number doubles.
std::uint32_t class_of(double kl) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::min(kl, double(FLT_MAX)))) >> 16;
}

double middle_of(std::uint32_t kl_class) {
  if (kl_class == 0) return 0;
  return std::bit_cast<float>(kl_class << 16 | 0x8000u);
}

// e^mean, infinite where no double holds it, and what an error of the mean makes of it.
Estimate exponential(const Estimate& log) {
  const double root =
      exact_exp(log.mean / 2);  // the whole is out of its range before it is out of a double's
  const double value = std::fabs(log.mean) <= 700 ? exact_exp(log.mean) : root * root;
  return {value, log.error == 0 ? 0 : value * log.error};
}

}  // namespace

void EvaluationSums::Moments::add(double x) {
  sum.add(x);
  squares.add(x * x);
}

void EvaluationSums::Moments::add(const Moments& other) {
  sum.add(other.sum);
  squares.add(other.squares);
}

void EvaluationSums::add(std::uint32_t n_before, const TokenScore& score) {
  ++n_tokens_;
  nll_.add(score.nll);
  Positions& positions = positions_[position_class(n_before)];
  ++positions.n_tokens;
  positions.nll.add(score.nll);
}

void EvaluationSums::add(std::uint32_t n_before, const TokenScore& score, const TokenScore& base, double kl) {
  add(n_before, score);
  compared_ = true;
  base_nll_.add(base.nll);
  log_ratio_.add(score.nll - base.nll);
  kl_.add(kl);
  kl_max_ = std::max(kl_max_, kl);
  ++kl_classes_[class_of(kl)];
  change_.add(exact_exp(-score.nll) - exact_exp(-base.nll));
  const auto known = [&](std::uint32_t token) {
    return token != kNoTop && std::find(score.top.begin(), score.top.end(), token) != score.top.end();
  };
  const auto n_wanted = std::count_if(base.top.begin(), base.top.end(), [](auto id) { return id != kNoTop; });
  const auto n_known = std::count_if(base.top.begin(), base.top.end(), known);
  top5_.add(static_cast<double>(n_known) / static_cast<double>(n_wanted));
  Positions& positions = positions_[position_class(n_before)];
  positions.kl.add(kl);
  if (score.top[0] == base.top[0]) {
    ++n_same_top_;
    ++positions.n_same_top;
  }
}

Result<void> EvaluationSums::merge(const EvaluationSums& other) {
  if (other.n_tokens_ == 0) return {};
  if (n_tokens_ != 0 && compared_ != other.compared_) {
    return Error{.status = Status::arg,
                 .message = "one of the results compares with a base and another does not"};
  }
  if (other.n_tokens_ > kMaxTokens - std::min(n_tokens_, kMaxTokens)) {
    return Error{.status = Status::limit,
                 .message = fmt::format("the results have over {} tokens together", kMaxTokens)};
  }
  EvaluationSums joined = *this;
  joined.add(other);
  if (!joined.fits()) {
    return Error{.status = Status::limit,
                 .message = "a sum of the results together is 2^188 or more, which no real ones are"};
  }
  *this = std::move(joined);
  return {};
}

bool EvaluationSums::fits() const {
  const auto fit = [](const Positions& positions) { return positions.nll.fits() && positions.kl.fits(); };
  return nll_.fits() && base_nll_.fits() && log_ratio_.fits() && kl_.fits() && change_.fits() &&
         top5_.fits() && std::all_of(positions_.begin(), positions_.end(), fit);
}

void EvaluationSums::add(const EvaluationSums& other) {
  n_tokens_ += other.n_tokens_;
  compared_ = other.compared_;
  nll_.add(other.nll_);
  base_nll_.add(other.base_nll_);
  log_ratio_.add(other.log_ratio_);
  kl_.add(other.kl_);
  change_.add(other.change_);
  top5_.add(other.top5_);
  n_same_top_ += other.n_same_top_;
  kl_max_ = std::max(kl_max_, other.kl_max_);
  for (const auto& [kl_class, n] : other.kl_classes_) kl_classes_[kl_class] += n;
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    positions_[i].n_tokens += other.positions_[i].n_tokens;
    positions_[i].n_same_top += other.positions_[i].n_same_top;
    positions_[i].nll.add(other.positions_[i].nll);
    positions_[i].kl.add(other.positions_[i].kl);
  }
}

Estimate EvaluationSums::estimate(const Moments& moments) const {
  const auto n = static_cast<double>(n_tokens_);
  if (n_tokens_ == 0) return {};
  const double mean = moments.sum.value() / n;
  if (n_tokens_ == 1) return {mean, 0};
  // The squares of the deviations, exact up to their last subtraction: n * squares - sum^2 would cancel more.
  const double spread = std::max(0.0, moments.squares.value() - mean * moments.sum.value());
  return {mean, std::sqrt(spread / (n - 1) / n)};
}

Estimate EvaluationSums::nll() const { return estimate(nll_); }
Estimate EvaluationSums::perplexity() const { return exponential(nll()); }
Estimate EvaluationSums::base_nll() const { return estimate(base_nll_); }
Estimate EvaluationSums::base_perplexity() const { return compared_ ? exponential(base_nll()) : Estimate{}; }
Estimate EvaluationSums::perplexity_ratio() const {
  return compared_ ? exponential(estimate(log_ratio_)) : Estimate{};
}
Estimate EvaluationSums::kl() const { return estimate(kl_); }

double EvaluationSums::kl_quantile(double share) const {
  const double wanted = share * static_cast<double>(n_tokens_);
  double passed = 0;
  for (const auto& [kl_class, n] : kl_classes_) {
    passed += static_cast<double>(n);
    if (passed >= wanted) return std::min(middle_of(kl_class), kl_max_);
  }
  return kl_max_;
}

Estimate EvaluationSums::top_agreement() const {
  if (!compared_) return {};
  const auto n = static_cast<double>(n_tokens_);
  const double share = static_cast<double>(n_same_top_) / n;
  return {share, std::sqrt(share * (1 - share) / n)};
}

Estimate EvaluationSums::top5_agreement() const { return estimate(top5_); }
Estimate EvaluationSums::probability_change() const { return estimate(change_); }
double EvaluationSums::probability_change_rms() const {
  return n_tokens_ == 0 ? 0 : std::sqrt(change_.squares.value() / static_cast<double>(n_tokens_));
}

}  // namespace ml
