#include "common/values.hpp"

#include <ml/mog.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cli {

namespace {

// ASCII has characters for this: between the fields of a value, the values, and around all of them.
constexpr char kField = '\x1e';
constexpr char kValue = '\x1d';
constexpr char kMark = '\x1f';

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> words(std::string_view text) {
  return text.empty() ? std::vector<std::string>() : split(text, ' ');
}

std::string packed(const Values& values) {
  return fmt::format("{1}{0}{2}{0}{3:d}{4:d}{5:d}{0}{6}", kField, fmt::join(values.names, " "),
                     values.separators, values.after_separator, values.files, values.recipes,
                     fmt::join(values.suffixes, " "));
}

Values unpacked(std::string_view text) {
  const std::vector<std::string> fields = split(text, kField);
  return {.names = words(fields[0]),
          .separators = fields[1],
          .after_separator = fields[2][0] == '1',
          .files = fields[2][1] == '1',
          .suffixes = words(fields[3]),
          .recipes = fields[2][2] == '1'};
}

}  // namespace

Values list_of(std::vector<std::string> names, std::string separators) {
  return {.names = std::move(names), .separators = std::move(separators)};
}

Values pattern_with(std::vector<std::string> names) {
  return {.names = std::move(names), .separators = "=", .after_separator = true};
}

Values files_with(std::vector<std::string> suffixes) {
  return {.files = true, .suffixes = std::move(suffixes)};
}

Values recipe_files() { return {.files = true, .suffixes = {".json"}, .recipes = true}; }
Values tokenizer_files() { return files_with({".mlt", ".json", ".gguf", ".mog"}); }
Values model_files() { return files_with({".mlb", ".mog", ".gguf"}); }

std::vector<std::string> mog_encoding_names() {
  std::vector<std::string> names;
  for (const ml::MogEncoding& row : ml::mog_encodings()) names.push_back(row.name);
  return names;
}

std::string type_of(std::string_view shown, std::span<const Values> values) {
  std::vector<std::string> parts;
  for (const Values& value : values) parts.push_back(packed(value));
  return fmt::format("{}{}{}{}", shown, kMark, fmt::join(parts, std::string(1, kValue)), kMark);
}

std::optional<std::vector<Values>> values_in(std::string_view type) {
  const std::size_t begin = type.find(kMark);
  if (begin == std::string_view::npos) return {};
  std::vector<Values> values;
  for (const std::string& part : split(type.substr(begin + 1, type.rfind(kMark) - begin - 1), kValue))
    values.push_back(unpacked(part));
  return values;
}

Values usual_values(std::string_view shown) {
  if (shown == "MODEL") return model_files();
  constexpr std::array<std::string_view, 8> kWords = {"FILE", "FOLDER", "DIR",   "PATH",
                                                      "OUT",  "MODEL",  "INPUT", "TOK"};
  return {.files = std::any_of(kWords.begin(), kWords.end(),
                               [&](std::string_view word) { return shown.find(word) != std::string::npos; })};
}

}  // namespace cli
