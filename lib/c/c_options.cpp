#include "c/c_options.hpp"

#include "util/try.hpp"

#include <algorithm>
#include <string>

namespace ml::c {

Error bad_value(std::string_view key, std::string_view value, std::string_view rule) {
  return {.status = Status::arg, .message = fmt::format("{} is {}, must be {}", key, value, rule)};
}

namespace {

Error no_such_option(std::string_view item, std::span<const TextOption> options) {
  std::string known;
  for (const TextOption& option : options)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", option.key);
  return {.status = Status::arg,
          .message = fmt::format("option {} is unknown, must be KEY=VALUE with a key of {}", item, known)};
}

}  // namespace

Result<void> read_options(const char* text, std::span<const TextOption> options) {
  constexpr std::string_view kBetween = " ,\t\n";
  std::string_view rest = text == nullptr ? "" : text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (rest.empty()) return {};
    const std::string_view item = rest.substr(0, rest.find_first_of(kBetween));
    rest.remove_prefix(item.size());
    const std::size_t equals = item.find('=');
    const auto option = std::find_if(options.begin(), options.end(), [&](const TextOption& candidate) {
      return candidate.key == item.substr(0, equals);
    });
    if (equals == std::string_view::npos || option == options.end()) return no_such_option(item, options);
    ML_CHECK(option->set(item.substr(equals + 1)));
  }
}

}  // namespace ml::c
