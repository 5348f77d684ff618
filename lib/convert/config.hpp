#pragma once

#include <ml/status.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// A config.json, or one object inside it. Every getter names key, value and rule where a value is not what
/// it must be. A key that is null counts as missing. Keys of text_config (wrappers around a text model) are
/// seen as if they stood at the top level, where the top level lacks them.
class Config {
 public:
  /// @param path  for messages
  /// @error format  not a JSON object
  static Result<Config> parse(std::string_view text, std::string path);

  /// What another format says, in the keys of a config.json.
  ///
  /// @param object  a JSON object
  /// @param names   key, with the objects around it ("rope_scaling.factor") -> what the format calls it, for
  ///                messages
  static Config from_object(nlohmann::json object, std::string path,
                            std::map<std::string, std::string, std::less<>> names);

  /// True for an object without keys.
  bool empty() const { return object_->empty(); }
  bool has(std::string_view key) const { return find(key).value != nullptr; }

  /// True where the key is there with the value null.
  bool is_null(std::string_view key) const;
  const std::string& path() const { return path_; }

  /// An integer in [min, max]; `missing` where the key is absent, an error without it.
  Result<std::uint32_t> count(std::string_view key, std::uint32_t min, std::uint32_t max,
                              std::optional<std::uint32_t> missing = {}) const;
  /// A number above 0 that float32 holds as one.
  Result<float> positive(std::string_view key, std::optional<float> missing = {}) const;
  /// A number of 0 or more that float32 holds; one above 0 that it would make 0 is none.
  Result<float> non_negative(std::string_view key, std::optional<float> missing = {}) const;
  Result<bool> flag(std::string_view key, bool missing) const;
  /// "" where the key is absent.
  Result<std::string> text(std::string_view key) const;
  /// The first string of a list; "" where the key is absent or the list empty.
  Result<std::string> first_text(std::string_view key) const;
  /// A list of strings, of integers; empty where the key is absent.
  Result<std::vector<std::string>> texts(std::string_view key) const;
  Result<std::vector<std::uint32_t>> counts(std::string_view key) const;
  /// An integer, or a list of them.
  Result<std::vector<std::uint32_t>> one_or_more_counts(std::string_view key) const;
  /// The object under a key; empty where the key is absent.
  Result<std::optional<Config>> object(std::string_view key) const;

  /// What is wrong with the value of a key: "rope_scaling.factor is -1, must be a number above 0".
  Error wrong(std::string_view key, std::string_view rule, Status status = Status::format) const;

 private:
  struct Found {
    const nlohmann::json* value;  // null: missing
    std::string name;             // with the objects around it
  };
  Found find(std::string_view key) const;
  Result<float> number(std::string_view key, std::optional<float> missing, std::string_view rule) const;

  std::shared_ptr<const nlohmann::json> root_;  // keeps the parts alive
  const nlohmann::json* object_ = nullptr;
  const nlohmann::json* below_ = nullptr;  // text_config, or null
  std::string prefix_;
  std::string path_;
  std::map<std::string, std::string, std::less<>> names_;
};

}  // namespace ml
