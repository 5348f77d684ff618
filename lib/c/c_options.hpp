#pragma once

#include "util/number_from_chars.hpp"

#include <ml/status.hpp>

#include <fmt/format.h>

#include <functional>
#include <span>
#include <string_view>

namespace ml::c {

/// One key of an option text.
struct TextOption {
  std::string_view key;
  std::function<Result<void>(std::string_view value)> set;
};

/// Reads "key=value key=value", blanks or commas between them; null is none.
///
/// @error arg  no such key, or what its setter says
Result<void> read_options(const char* text, std::span<const TextOption> options);

/// @error arg  "ctx is 12x, must be a number"
Error bad_value(std::string_view key, std::string_view value, std::string_view rule);

/// A key whose value is a number that `field` can hold.
template <class Number>
TextOption number_option(std::string_view key, Number& field) {
  return {key, [key, &field](std::string_view value) -> Result<void> {
            const auto [end, problem] = number_from_chars(value.data(), value.data() + value.size(), field);
            if (problem == std::errc() && end == value.data() + value.size()) return {};
            return bad_value(
                key, value,
                problem == std::errc::result_out_of_range ? "a number that its type holds" : "a number");
          }};
}

/// A key whose value is 0 or 1.
template <class Bool>
TextOption switch_option(std::string_view key, Bool& field) {
  return {key, [key, &field](std::string_view value) -> Result<void> {
            if (value != "0" && value != "1") return bad_value(key, value, "0 or 1");
            field = value == "1";
            return {};
          }};
}

}  // namespace ml::c
