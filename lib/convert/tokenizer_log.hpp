#pragma once

#include <ml/tokenizer.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace ml {

/// Decides about the features of a tokenizer.json that .mlt cannot say, and keeps what the user should know.
class ConversionLog {
 public:
  explicit ConversionLog(const PackOptions& options) : options_(options) {}

  /// A feature that no .mlt can say. @param path of the JSON value ("normalizer.type")
  static Error refusal(std::string_view path, std::string_view what) {
    return {Status::unsupported, fmt::format("{}: {}", path, what)};
  }
  /// JSON that is not what a tokenizer.json holds there.
  static Error malformed(std::string_view path, std::string_view what) {
    return {Status::format, fmt::format("{}: {}", path, what)};
  }

  /// A feature whose loss changes rare inputs only.
  Result<void> lossy(std::string_view path, std::string_view what) {
    if (!options_.lossy) return refusal(path, what);
    note(fmt::format("dropped: {}: {}", path, what));
    return {};
  }

  /// A feature that needs an extension flag.
  Result<void> extension(std::string_view path, std::uint32_t flag) {
    const std::string name = tokenizer_flag_names(flag).front();
    if (options_.strict) return refusal(path, fmt::format("needs the extension flag {} ({})", flag, name));
    note(fmt::format("{}: uses the extension flag {} ({})", path, flag, name));
    return {};
  }

  void note(std::string text) { notes_.push_back(std::move(text)); }
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  const PackOptions& options_;
  std::vector<std::string> notes_;
};

}  // namespace ml
