#include "util/json.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace ml {

namespace {

using nlohmann::json;

constexpr std::size_t kShown = 80;

// The library's text starts with its own name and position and may quote the whole file; the reason lies
// between.
std::string_view reason(std::string_view what) {
  if (const auto start = what.find(" - "); start != std::string_view::npos) {
    what.remove_prefix(start + 3);
  } else if (const auto bracket = what.find("] "); bracket != std::string_view::npos) {
    what.remove_prefix(bracket + 2);
  }
  return what.substr(0, what.find("; ")).substr(0, kShown);
}

std::string cut(std::string text) {
  if (text.size() <= kShown) return text;
  std::size_t end = kShown - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "...";
}

}  // namespace

Result<json> parse_json(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::optional<Error> refused;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (refused) return false;
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        keys.emplace_back();
        if (keys.size() > kMaxJsonDepth) {
          refused = Error{.status = Status::limit,
                          .message = fmt::format("JSON is nested over {} levels deep", kMaxJsonDepth)};
          return false;
        }
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end: keys.pop_back(); break;
      case json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!keys.back().insert(key).second) {
          refused = Error{.status = Status::format,
                          .message = fmt::format("JSON key {} is there twice", show_json(parsed))};
          return false;
        }
        break;
      }
      case json::parse_event_t::value: break;
    }
    return true;
  };
  try {
    json value = json::parse(text.begin(), text.end(), watch);
    if (refused) return std::move(*refused);
    return value;
  } catch (const json::parse_error& error) {
    if (refused) return std::move(*refused);
    return Error{.status = Status::format,
                 .message = fmt::format("not JSON: {}", reason(error.what())),
                 .offset = error.byte > 0 ? error.byte - 1 : 0};
  } catch (const json::exception& error) {
    if (refused) return std::move(*refused);
    return Error{.status = Status::format, .message = fmt::format("not JSON: {}", reason(error.what()))};
  } catch (const std::bad_alloc&) {
    return Error{.status = Status::nomem, .message = "JSON does not fit into memory"};
  }
}

std::string show_json(const json& value) {
  if (value.is_structured()) return value.is_object() ? "an object" : "a list";
  return cut(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string show_name(std::string_view name) {
  const std::string quoted =
      json(std::string(name.substr(0, 4 * kShown))).dump(-1, ' ', false, json::error_handler_t::replace);
  return cut(quoted.substr(1, quoted.size() - 2));
}

}  // namespace ml
