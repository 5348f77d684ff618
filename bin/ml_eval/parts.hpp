#pragma once

#include "ml_eval/texts.hpp"

#include <ml/status.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace ml_eval {

/// Which windows a result is of: the shards that it holds of each set of texts, so that --merge sees one that
/// is there twice or not at all.
class Parts {
 public:
  Parts() = default;
  /// The one shard of this plan.
  explicit Parts(const Plan& plan);

  /// Adds those of another result.
  ///
  /// @param list  what to_json() made
  /// @param path  of that result, for messages
  /// @error format, arg (a shard is there already, or is of another cut)
  ml::Result<void> add(const nlohmann::ordered_json& list, const std::string& path);

  /// What is not there, of the first set of texts that is not complete; path is that of one of its results.
  ///
  /// @return success when all is there
  ml::Result<void> complete() const;

  /// An object for each shard, or one for all where none is missing, in an order that does not depend on that
  /// of add().
  nlohmann::ordered_json to_json() const;

 private:
  struct Work {
    std::uint64_t n_shards = 1;
    std::uint64_t n_windows = 0;                  // of all shards
    std::map<std::uint64_t, std::string> shards;  // from 1; the result that brought it

    std::uint64_t n_missing() const;
  };

  static ml::Result<void> add_shard(Work& work, const Work& other, std::uint64_t shard,
                                    const std::string& path);

  std::map<std::string, Work> works_;  // by what Plan::hash_of_all says
};

}  // namespace ml_eval
