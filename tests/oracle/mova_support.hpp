#pragma once

#include "catch.hpp"
#include "folder.hpp"
#include "formats/safetensors.hpp"
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

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// A BF16 tensor of a checkpoint's one file, with its bytes.
struct MovaEntry {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> bytes;
};

inline std::vector<MovaEntry> read_mova_entries(const std::string& folder) {
  const std::string text = read_file(folder + "/model.safetensors");
  const auto file = ml::read_safetensors(std::as_bytes(std::span(text)));
  REQUIRE(file);
  std::vector<MovaEntry> entries;
  for (const ml::SafetensorsTensor& tensor : file->tensors)
    entries.push_back({tensor.name, tensor.shape, {tensor.data.begin(), tensor.data.end()}});
  return entries;
}

/// The same weights with a tensor for each expert.
inline std::vector<MovaEntry> apart(const std::vector<MovaEntry>& entries) {
  std::vector<MovaEntry> result;
  for (const MovaEntry& entry : entries) {
    if (entry.shape.size() != 3) {
      result.push_back(entry);
      continue;
    }
    const std::size_t n_bytes = entry.bytes.size() / entry.shape[0];
    for (std::uint32_t expert = 0; expert < entry.shape[0]; ++expert) {
      std::string name = entry.name;
      name.insert(name.rfind("experts.") + 8, std::to_string(expert) + ".");
      const auto begin = entry.bytes.begin() + static_cast<std::ptrdiff_t>(expert * n_bytes);
      result.push_back(
          {name, {entry.shape[1], entry.shape[2]}, {begin, begin + static_cast<std::ptrdiff_t>(n_bytes)}});
    }
  }
  return result;
}

/// A checkpoint of these tensors with the config.json of `source`.
inline void write_mova_entries(const TempFolder& folder, const std::string& source,
                               const std::vector<MovaEntry>& entries) {
  std::vector<ml::SafetensorsSource> sources;
  for (const MovaEntry& entry : entries) sources.push_back({entry.name, "BF16", entry.shape, entry.bytes});
  const auto bytes = ml::write_safetensors(sources);
  REQUIRE(bytes);
  folder.write("config.json", read_file(source + "/config.json"));
  folder.write("model.safetensors", {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}
