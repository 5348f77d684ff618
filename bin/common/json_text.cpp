#include "common/json_text.hpp"

#include "common/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace cli {

namespace {

using nlohmann::ordered_json;

// Throws ml::Error, which the parser lets pass.
class Limits {
 public:
  bool operator()(int, ordered_json::parse_event_t event, ordered_json& parsed) {
    using Event = ordered_json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      keys_.emplace_back();
      if (keys_.size() > kMaxJsonDepth)
        throw too_much(fmt::format("is nested over {} levels deep", kMaxJsonDepth));
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      add_key(parsed);
    }
    return true;
  }

 private:
  void add_key(const ordered_json& key) {
    if (!keys_.back().insert(key.get_ref<const std::string&>()).second) {
      throw ml::Error{
          .status = ml::Status::format,
          .message = fmt::format("JSON key {} is there twice", printable(json_text(key), kShown))};
    }
    if (keys_.back().size() > kMaxJsonKeys)
      throw too_much(fmt::format("has an object of over {} keys", kMaxJsonKeys));
  }

  static ml::Error too_much(const std::string& what) {
    return {.status = ml::Status::limit, .message = "JSON " + what};
  }

  static constexpr std::size_t kShown = 80;
  std::vector<std::set<std::string>> keys_;  // of each open container
};

}  // namespace

ml::Result<ordered_json> parse_json(std::string_view text) {
  // The library takes a NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != text.npos)
    return ml::Error{.status = ml::Status::format, .message = "not JSON: a NUL byte", .offset = nul};
  try {
    return ordered_json::parse(text, Limits());
  } catch (const ml::Error& error) {
    return error;
  } catch (const ordered_json::parse_error& error) {
    return ml::Error{.status = ml::Status::format,
                     .message = "not JSON",
                     .offset = std::max<std::size_t>(error.byte, 1) - 1};
  } catch (const ordered_json::exception&) {  // a number that no double holds
    return ml::Error{.status = ml::Status::format, .message = "not JSON", .offset = 0};
  }
}

ml::Result<std::vector<ordered_json>> parse_json_lines(std::string_view text) {
  std::vector<ordered_json> values;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    if (line.find_first_not_of(" \t\r") != line.npos) {
      auto value = parse_json(line);
      if (!value) {
        if (value.error().offset) *value.error().offset += begin;
        return value.error();
      }
      values.push_back(std::move(*value));
    }
    begin += line.size() + 1;
  }
  return values;
}

}  // namespace cli
