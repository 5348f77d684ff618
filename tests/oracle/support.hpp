#pragma once

#include "data.hpp"

#include <ml/hash.hpp>
#include <ml/model.hpp>
#include <ml/session.hpp>

#include "util/bytes.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

inline std::vector<float> read_floats(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<float> floats(bytes.size() / sizeof(float));
  ml::load_le(bytes.data(), std::span(floats));
  return floats;
}

/// What the float32 reference computed for one model of tests/data/oracle.
struct Golden {
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> greedy;
  std::vector<float> logits;         ///< tokens x vocab
  std::vector<float> greedy_logits;  ///< greedy x vocab; row i chose greedy[i]

  explicit Golden(const std::string& folder) {
    const auto json = nlohmann::json::parse(read_file(folder + "/golden.json"));
    tokens = json.at("tokens").get<std::vector<std::uint32_t>>();
    greedy = json.at("greedy").get<std::vector<std::uint32_t>>();
    logits = read_floats(folder + "/golden.logits.f32");
    greedy_logits = read_floats(folder + "/golden.greedy.f32");
  }
};

/// Logits of every position, joined.
inline std::vector<float> logits_of(const ml::Model& model, const std::vector<std::uint32_t>& tokens,
                                    const ml::SessionOptions& options) {
  auto session = ml::Session::create(model, options);
  std::vector<float> all;
  if (!session) return all;
  const auto done = session->eval(tokens, [&](std::uint32_t, std::span<const float> row) {
    all.insert(all.end(), row.begin(), row.end());
  });
  return done ? all : std::vector<float>();
}

/// The largest difference, as a share of the largest logit of the reference.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return HUGE_VAL;
  double largest = 0;
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::fabs(double(want[i])));
    worst = std::max(worst, std::fabs(double(got[i]) - want[i]));
  }
  return worst / largest;
}

inline std::uint32_t argmax(std::span<const float> row) {
  return static_cast<std::uint32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}
