#include "ml_eval/parts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace ml_eval {

namespace {

using nlohmann::ordered_json;

ml::Error error_of(ml::Status status, std::string message) {
  return {.status = status, .message = std::move(message)};
}

// What is wrong with an object of the list; "" for nothing.
std::string complaint(const ordered_json& part) {
  if (!part.is_object() || !part.contains("of") || !part["of"].is_string()) return "of must be a text";
  for (const char* key : {"shard", "n_shards", "n_windows"}) {
    if (!part.contains(key) || !part[key].is_number_unsigned())
      return fmt::format("{} must be a whole number", key);
  }
  const auto shard = part["shard"].get<std::uint64_t>();
  for (const char* key : {"n_shards", "n_windows"}) {
    const auto most = part[key].get<std::uint64_t>();
    if (shard < 1 || shard > most) return fmt::format("shard is {}, must be 1 to {}, {}", shard, key, most);
  }
  return "";
}

}  // namespace

Parts::Parts(const Plan& plan) {
  Work& work = works_[fmt::format("{:016x}", plan.hash_of_all())];
  work.n_shards = plan.n_shards;
  for (const Text& text : plan.texts) work.n_windows += plan.n_windows(text);
  work.shards.emplace(plan.shard_index + 1, "");
}

std::uint64_t Parts::Work::n_missing() const {
  return std::min(n_shards, n_windows) - shards.size();  // shards beyond the windows are empty
}

ml::Result<void> Parts::add_shard(Work& work, const Work& other, std::uint64_t shard,
                                  const std::string& path) {
  if (work.shards.empty()) {
    work.n_shards = other.n_shards;
    work.n_windows = other.n_windows;
  }
  if (work.n_shards != other.n_shards) {
    return error_of(
        ml::Status::arg,
        fmt::format("shard {}/{} does not go with shard {}/{} of {}: all must be of one N", shard,
                    other.n_shards, work.shards.begin()->first, work.n_shards, work.shards.begin()->second));
  }
  if (work.n_windows != other.n_windows) {
    return error_of(ml::Status::arg, fmt::format("n_windows of parts is {}, but {} in {}", other.n_windows,
                                                 work.n_windows, work.shards.begin()->second));
  }
  const auto [at, added] = work.shards.emplace(shard, path);
  if (added) return {};
  return error_of(ml::Status::arg,
                  work.n_shards == 1
                      ? fmt::format("is of texts that are in {} already", at->second)
                      : fmt::format("shard {}/{} is in {} already", shard, work.n_shards, at->second));
}

ml::Result<void> Parts::add(const ordered_json& list, const std::string& path) {
  if (!list.is_array() || list.empty()) return error_of(ml::Status::format, "parts must be a list");
  for (const ordered_json& part : list) {
    if (const std::string problem = complaint(part); !problem.empty())
      return error_of(ml::Status::format, "parts: " + problem);
    const Work other{.n_shards = part["n_shards"].get<std::uint64_t>(),
                     .n_windows = part["n_windows"].get<std::uint64_t>(),
                     .shards = {}};
    auto added =
        add_shard(works_[part["of"].get<std::string>()], other, part["shard"].get<std::uint64_t>(), path);
    if (!added) return added;
  }
  return {};
}

ml::Result<void> Parts::complete() const {
  for (const auto& [of, work] : works_) {
    const std::uint64_t n_missing = work.n_missing();
    if (n_missing == 0) continue;
    std::uint64_t first = 1;
    while (work.shards.contains(first)) ++first;
    const std::string others =
        n_missing == 1 ? " is" : fmt::format(" and {} other{} are", n_missing - 1, n_missing == 2 ? "" : "s");
    ml::Error error = error_of(
        ml::Status::arg, fmt::format("shard {}/{} of its texts{} missing", first, work.n_shards, others));
    error.path = work.shards.begin()->second;
    return error;
  }
  return {};
}

ordered_json Parts::to_json() const {
  ordered_json list = ordered_json::array();
  for (const auto& [of, work] : works_) {
    if (work.n_missing() == 0) {
      list.push_back({{"of", of}, {"shard", 1}, {"n_shards", 1}, {"n_windows", work.n_windows}});
      continue;
    }
    for (const auto& [shard, path] : work.shards) {
      list.push_back(
          {{"of", of}, {"shard", shard}, {"n_shards", work.n_shards}, {"n_windows", work.n_windows}});
    }
  }
  return list;
}

}  // namespace ml_eval
