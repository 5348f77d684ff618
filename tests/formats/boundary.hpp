#pragma once

// A file of some format whose fields are set to the bounds of their types, one after the other.

#include "catch.hpp"
#include "patched.hpp"

#include <ml/status.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace boundary {

using namespace ml;

struct Field {
  std::uint64_t offset;
  std::string type;
  std::string name;
};

template <class T>
std::vector<std::string> with_integers(const std::string& file, std::uint64_t at) {
  const T old = load_le<T>(file.data() + at);
  std::vector<std::uint64_t> values{0, 1, 2, 3, 31, 32, 33, 127, 128, 255, 256, 65535, 65536, 65537};
  for (const int bit : {15, 24, 31, 32, 40, 62, 63})
    for (const std::uint64_t step : {std::uint64_t(0) - 1, std::uint64_t(0), std::uint64_t(1)})
      values.push_back((std::uint64_t(1) << bit) + step);
  for (const std::uint64_t step : {1, 64}) {
    values.push_back(std::uint64_t(0) - step);
    values.push_back(static_cast<std::uint64_t>(old) + step);
    values.push_back(static_cast<std::uint64_t>(old) - step);
  }
  std::vector<std::string> files;
  for (const std::uint64_t value : values)
    if (static_cast<T>(value) != old) files.push_back(patched(file, at, static_cast<T>(value)));
  return files;
}

template <class T>
std::vector<std::string> with_floats(const std::string& file, std::uint64_t at) {
  using Limits = std::numeric_limits<T>;
  std::vector<std::string> files;
  for (const T value : {T(0), -T(0), T(1), T(-1), Limits::denorm_min(), Limits::min(), Limits::max(),
                        Limits::lowest(), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
    files.push_back(patched(file, at, value));
  return files;
}

inline std::vector<std::string> at_bounds(const std::string& file, const Field& field) {
  if (field.type.starts_with("u32")) return with_integers<std::uint32_t>(file, field.offset);
  if (field.type.starts_with("i32")) return with_integers<std::int32_t>(file, field.offset);
  if (field.type.starts_with("u64")) return with_integers<std::uint64_t>(file, field.offset);
  if (field.type.starts_with("u16")) return with_integers<std::uint16_t>(file, field.offset);
  if (field.type.starts_with("f32")) return with_floats<float>(file, field.offset);
  if (field.type.starts_with("f64") || field.type.starts_with("float64"))
    return with_floats<double>(file, field.offset);
  return with_integers<std::uint8_t>(file, field.offset);  // char[4], bytes
}

struct Format {
  std::string name;
  std::string file;
  std::vector<Field> fields;
  std::set<std::string> free;  // fields of which any value is sound
  std::function<std::optional<Error>(const std::string&)> read;
};

template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

inline void check_clear(const Error& error, std::uint64_t n_bytes) {
  CHECK_FALSE(error.message.empty());
  CHECK(error.message.find('\n') == std::string::npos);
  CHECK(error.offset.value_or(0) <= n_bytes);
}

/// Each value of each field is sound, or refused by one clear error; of every field that is not free some
/// value is refused.
inline void check_fields(const Format& format) {
  CAPTURE(format.name);
  REQUIRE(format.fields.size() >= 8);
  REQUIRE_FALSE(format.read(format.file));
  for (const Field& field : format.fields) {
    CAPTURE(field.name, field.offset, field.type);
    REQUIRE(field.offset + 8 <= format.file.size());
    std::size_t n_refused = 0;
    for (const std::string& file : at_bounds(format.file, field)) {
      const auto error = format.read(file);
      if (!error) continue;
      ++n_refused;
      check_clear(*error, file.size());
    }
    CHECK((n_refused > 0) != format.free.contains(field.name));
  }
}

}  // namespace boundary
