#include "util/json.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"
#include "util/utf8.hpp"

#include <fmt/format.h>

#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace ml {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kShown = 80;

// The library's text starts with its own name and position and may quote the whole file; the reason lies
// between.
std::string_view reason(std::string_view what) {
  if (const auto start = what.find(" - "); start != std::string_view::npos) {
    what.remove_prefix(start + 3);
  } else if (const auto bracket = what.find("] "); bracket != std::string_view::npos) {
    what.remove_prefix(bracket + 2);
  }
  what = what.substr(0, what.find("; "));
  return what.substr(0, character_begin(what, kShown));
}

std::string cut(std::string text) {
  if (text.size() <= kShown) return text;
  return text.substr(0, character_begin(text, kShown - 3)) + "...";
}

// Builds the value from the parser's events, in linear time, and refuses what parse_json() refuses.
template <class Json>
class Builder : public nlohmann::json_sax<Json> {
  using Sax = nlohmann::json_sax<Json>;

 public:
  using typename Sax::binary_t, typename Sax::number_float_t, typename Sax::number_integer_t,
      typename Sax::number_unsigned_t, typename Sax::string_t;

  std::optional<Error> error;
  Json root;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    auto& object = open_.back()->template get_ref<typename Json::object_t&>();
    if constexpr (std::is_same_v<Json, ordered_json>) {  // parse_json() has looked for doubles
      slot_ = &append_key(object, name);
      return true;
    } else {
      const auto [entry, is_new] = object.emplace(name, nullptr);
      slot_ = &entry->second;
      if (is_new) return true;
    }
    error = Error{.status = Status::format,
                  .message = fmt::format("JSON key {} is there twice", show_json(name))};
    return false;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& failure) override {
    error = Error{.status = Status::format, .message = fmt::format("not JSON: {}", reason(failure.what()))};
    const bool has_place = dynamic_cast<const typename Json::parse_error*>(&failure) != nullptr;
    if (has_place) error->offset = position > 0 ? position - 1 : 0;
    return false;
  }

 private:
  bool count() {
    auto counted = count_json_value(n_values_);
    if (!counted) error = std::move(counted.error());
    return !error;
  }
  Json* place(Json value) {
    if (open_.empty()) return &(root = std::move(value));
    if (open_.back()->is_array())
      return &open_.back()->template get_ref<typename Json::array_t&>().emplace_back(std::move(value));
    return &(*slot_ = std::move(value));
  }
  bool add(Json value) {
    if (!count()) return false;
    place(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (!count()) return false;
    open_.push_back(place(std::move(container)));
    if (open_.size() <= kMaxJsonDepth) return true;
    error = Error{.status = Status::limit,
                  .message = fmt::format("JSON is nested over {} levels deep", kMaxJsonDepth)};
    return false;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;  // containers that are not complete
  Json* slot_ = nullptr;     // of the key that came last
  std::size_t n_values_ = 0;
};

template <class Json>
Result<Json> parse(std::string_view text) {
  try {
    Builder<Json> builder;
    if (Json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
    return *std::move(builder.error);
  } catch (const std::bad_alloc&) {
    return Error{.status = Status::nomem, .message = "JSON does not fit into memory"};
  }
}

}  // namespace

Result<void> count_json_value(std::size_t& n) {
  if (++n <= kMaxJsonValues) return {};
  return Error{.status = Status::limit,
               .message = fmt::format("JSON holds more than {} values", kMaxJsonValues)};
}

Result<void> refuse_nul(std::string_view text) {
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return Error{.status = Status::format, .message = "not JSON: a NUL byte", .offset = nul};
  }
  return {};
}

Result<json> parse_json(std::string_view text) {
  ML_CHECK(refuse_nul(text));
  return parse<json>(text);
}

Result<ordered_json> parse_ordered_json(std::string_view text) {
  ML_CHECK(parse_json(text));
  return parse<ordered_json>(text);
}

ordered_json& append_key(ordered_json::object_t& object, const std::string& key) {
  return static_cast<ordered_json::object_t::Container&>(object).emplace_back(key, nullptr).second;
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
