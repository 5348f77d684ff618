// Sums as a JSON object, so that results of parts can be joined:
//
//   version        1
//   n_tokens       tokens scored
//   nll            [sum, sum of squares] of -log probabilities; sums are texts, ExactSum::text()
//   positions      [[class, n_tokens, nll, n_same_top, kl], ...] for the classes that have tokens
// and where a base was compared with:
//   base_nll, log_ratio, kl, change, top5    like nll
//   n_same_top     tokens with the same likeliest one
//   kl_max         a number
//   kl_classes     [[class, n_tokens], ...] in ascending order; a class is the upper half of a float32's bits

#include <ml/evaluation.hpp>

#include "util/json.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ml {

namespace {

using nlohmann::json;

Error wrong(std::string_view key, std::string_view rule) {
  return {.status = Status::format, .message = fmt::format("sums: {} must be {}", key, rule)};
}

Result<std::uint64_t> read_count(const json& value, std::string_view key, std::uint64_t max) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max)
    return wrong(key, fmt::format("a whole number of at most {}", max));
  return value.get<std::uint64_t>();
}

Result<ExactSum> read_sum(const json& value, std::string_view key) {
  if (!value.is_string()) return wrong(key, "made of sums in hexadecimal");
  auto sum = ExactSum::parse(value.get_ref<const std::string&>());
  if (!sum) return wrong(key, "made of sums in hexadecimal");
  return sum;
}

// Of what is never negative: -log probabilities, divergences, squares.
Result<ExactSum> read_positive_sum(const json& value, std::string_view key) {
  ML_TRY(ExactSum sum, read_sum(value, key));
  if (sum.value() < 0) return wrong(key, "sums of at least 0");
  return sum;
}

Result<const json*> find(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return wrong(key, "there");
  return &*found;
}

// An array of arrays of n elements.
Result<const json*> find_rows(const json& object, const char* key, std::size_t n) {
  ML_TRY(const json* rows, find(object, key));
  bool good = rows->is_array();
  for (std::size_t i = 0; good && i < rows->size(); ++i)
    good = (*rows)[i].is_array() && (*rows)[i].size() == n;
  if (!good) return wrong(key, fmt::format("a list of lists of {}", n));
  return rows;
}

}  // namespace

std::string EvaluationSums::to_json() const {
  const auto moments = [](const Moments& m) { return json::array({m.sum.text(), m.squares.text()}); };
  json positions = json::array();
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    const Positions& p = positions_[i];
    if (p.n_tokens != 0) positions.push_back({i, p.n_tokens, p.nll.text(), p.n_same_top, p.kl.text()});
  }
  nlohmann::ordered_json sums{
      {"version", 1}, {"n_tokens", n_tokens_}, {"nll", moments(nll_)}, {"positions", positions}};
  if (compared_) {
    sums["base_nll"] = moments(base_nll_);
    sums["log_ratio"] = moments(log_ratio_);
    sums["kl"] = moments(kl_);
    sums["change"] = moments(change_);
    sums["top5"] = moments(top5_);
    sums["n_same_top"] = n_same_top_;
    sums["kl_max"] = kl_max_;
    json classes = json::array();
    for (const auto& [kl_class, n] : kl_classes_) classes.push_back({kl_class, n});
    sums["kl_classes"] = classes;
  }
  return sums.dump();
}

Result<EvaluationSums> EvaluationSums::parse(std::string_view text) {
  ML_TRY(const json object, parse_json(text));
  if (!object.is_object()) return wrong("they", "an object");
  ML_TRY(const json* version, find(object, "version"));
  if (*version != 1) return wrong("version", "1");

  EvaluationSums sums;
  const auto read_moments = [&](const char* key, Moments& moments, auto read_first) -> Result<void> {
    ML_TRY(const json* value, find(object, key));
    if (!value->is_array() || value->size() != 2) return wrong(key, "a list of two sums");
    ML_TRY(moments.sum, read_first((*value)[0], key));
    ML_TRY(moments.squares, read_positive_sum((*value)[1], key));
    return {};
  };
  ML_TRY(const json* n_tokens, find(object, "n_tokens"));
  ML_TRY(sums.n_tokens_, read_count(*n_tokens, "n_tokens", kMaxTokens));
  ML_CHECK(read_moments("nll", sums.nll_, read_positive_sum));
  ML_TRY(const json* positions, find_rows(object, "positions", 5));
  std::uint64_t n_positions = 0;
  for (const json& row : *positions) {
    ML_TRY(const std::uint64_t index, read_count(row[0], "positions", kPositionClasses - 1));
    Positions& p = sums.positions_[index];
    ML_TRY(p.n_tokens, read_count(row[1], "positions", sums.n_tokens_));
    ML_TRY(p.nll, read_positive_sum(row[2], "positions"));
    ML_TRY(p.n_same_top, read_count(row[3], "positions", p.n_tokens));
    ML_TRY(p.kl, read_positive_sum(row[4], "positions"));
    n_positions += p.n_tokens;
  }
  if (n_positions != sums.n_tokens_) return wrong("positions", "of n_tokens tokens");

  sums.compared_ = object.contains("kl");
  if (!sums.compared_) return sums;
  ML_CHECK(read_moments("base_nll", sums.base_nll_, read_positive_sum));
  ML_CHECK(read_moments("log_ratio", sums.log_ratio_, read_sum));
  ML_CHECK(read_moments("kl", sums.kl_, read_positive_sum));
  ML_CHECK(read_moments("change", sums.change_, read_sum));
  ML_CHECK(read_moments("top5", sums.top5_, read_positive_sum));
  ML_TRY(const json* n_same_top, find(object, "n_same_top"));
  ML_TRY(sums.n_same_top_, read_count(*n_same_top, "n_same_top", sums.n_tokens_));
  ML_TRY(const json* kl_max, find(object, "kl_max"));
  if (!kl_max->is_number() || !(kl_max->get<double>() >= 0)) return wrong("kl_max", "a number of at least 0");
  sums.kl_max_ = kl_max->get<double>();
  ML_TRY(const json* classes, find_rows(object, "kl_classes", 2));
  std::uint64_t n_classed = 0;
  for (const json& row : *classes) {
    constexpr std::uint64_t kLargestFinite = 0x7f7f;
    ML_TRY(const std::uint64_t kl_class, read_count(row[0], "kl_classes", kLargestFinite));
    ML_TRY(const std::uint64_t n, read_count(row[1], "kl_classes", sums.n_tokens_));
    sums.kl_classes_[static_cast<std::uint32_t>(kl_class)] += n;
    n_classed += n;
  }
  if (n_classed != sums.n_tokens_) return wrong("kl_classes", "of n_tokens tokens");
  return sums;
}

}  // namespace ml
