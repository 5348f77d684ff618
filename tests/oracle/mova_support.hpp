#pragma once

#include "catch.hpp"
#include "oracle/support.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

/// What the float64 reference computed for one model of tests/data/mova.
struct MovaGolden {
  std::vector<std::uint32_t> tokens;
  std::vector<float> logits;  ///< tokens x vocab
  /// Chosen experts in ascending order, by layer, position and whether they are those of values.
  using Place = std::tuple<std::uint32_t, std::uint32_t, bool>;
  std::map<Place, std::vector<std::uint32_t>> routes;

  explicit MovaGolden(const std::string& folder) : logits(read_floats(folder + "/logits.f32")) {
    std::istringstream ids(read_file(folder + "/ids.txt"));
    for (std::uint32_t id = 0; ids >> id;) tokens.push_back(id);
    const auto json = nlohmann::json::parse(read_file(folder + "/routes.json"));
    const auto first = json.at("first_sparse_layer").get<std::uint32_t>();
    for (const std::string kind : {"value", "mlp"}) {
      for (std::uint32_t layer = 0; layer < json.at(kind).size(); ++layer) {
        for (std::uint32_t position = 0; position < json.at(kind)[layer].size(); ++position)
          routes[{first + layer, position, kind == "value"}] =
              json.at(kind)[layer][position].get<std::vector<std::uint32_t>>();
      }
    }
  }
};

/// Collects what routers choose, as MovaGolden has it. @param routes  outlives the sink
inline ml::RouteSink collect_routes(std::map<MovaGolden::Place, std::vector<std::uint32_t>>& routes) {
  return [&routes](const ml::Route& route) {
    std::vector<std::uint32_t> experts(route.experts.begin(), route.experts.end());
    std::sort(experts.begin(), experts.end());
    routes[{route.layer, route.position, route.values}] = std::move(experts);
  };
}

inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(double(a[i]) - b[i]));
  return worst;
}
