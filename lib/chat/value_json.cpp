// JSON in and out, as Python's json module reads and writes it.

#include "chat/text.hpp"
#include "chat/value.hpp"
#include "util/json.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

namespace ml::chat {

namespace {

using nlohmann::json;

/// Takes the parser's events, so that nothing but the values themselves is made.
class Reader {
 public:
  bool null() { return put(None{}); }
  bool boolean(bool flag) { return put(flag); }
  bool number_integer(json::number_integer_t number) { return put(std::int64_t{number}); }
  bool number_unsigned(json::number_unsigned_t number) {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse(
          {.status = Status::limit, .message = fmt::format("{} is an integer beyond 64 bits", number)});
    }
    return put(static_cast<std::int64_t>(number));
  }
  bool number_float(double real, const std::string& text) {
    // An integer that is too long comes as a double, too; Python would keep all of it.
    if (text.find_first_of(".eE") != std::string::npos) return put(real);
    return refuse({.status = Status::limit,
                   .message = fmt::format("{} is an integer beyond 64 bits", show_name(text))});
  }
  bool string(std::string& text) { return put(text_value(text)); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(true); }
  bool start_array(std::size_t) { return open(false); }
  bool key(std::string& name) {
    open_.back().key = std::make_shared<const std::string>(name);
    return true;
  }
  bool end_object() {
    auto items = std::move(open_.back().pairs);
    open_.pop_back();
    return put(make_dict(std::move(items)));
  }
  bool end_array() {
    auto items = std::move(open_.back().items);
    open_.pop_back();
    return put(make_list(std::move(items)));
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) { return false; }

  std::optional<Error> error;
  Value result;

 private:
  struct Open {
    bool object = false;
    Text key = {};
    std::vector<Value> items = {};
    std::vector<std::pair<Text, Value>> pairs = {};
  };

  bool refuse(Error why) {
    error = std::move(why);
    return false;
  }
  bool open(bool object) {
    if (open_.size() >= kMaxJsonDepth) {
      return refuse({.status = Status::limit,
                     .message = fmt::format("JSON is nested over {} levels deep", kMaxJsonDepth)});
    }
    open_.push_back({.object = object});
    return true;
  }
  bool put(Result<Value> value) {
    if (!value) return refuse(std::move(value.error()));
    return put(std::move(*value));
  }
  bool put(Value value) {
    if (open_.empty()) {
      result = std::move(value);
    } else if (open_.back().object) {
      open_.back().pairs.emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Open> open_;
};

class Writer {
 public:
  Writer(std::int64_t indent, Separators separators, std::size_t max_bytes)
      : indent_(indent), separators_(std::move(separators)), max_bytes_(max_bytes) {}

  Result<void> put(const Value& value, unsigned level) {
    ML_CHECK(check_room(0));
    if (const auto* text = std::get_if<Text>(&value)) return quote(**text);
    if (const auto* list = std::get_if<ListRef>(&value)) {
      if ((*list)->kind == ListKind::list || (*list)->kind == ListKind::tuple) return put_list(**list, level);
    }
    if (const auto* dict = std::get_if<DictRef>(&value)) return put_dict(**dict, level);
    if (std::holds_alternative<None>(value)) {
      out += "null";
    } else if (const auto* flag = std::get_if<bool>(&value)) {
      out += *flag ? "true" : "false";
    } else if (const auto* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real)) {
      out += std::isnan(*real) ? "NaN" : *real < 0 ? "-Infinity" : "Infinity";
    } else if (is_number(value)) {
      ML_TRY(const std::string text, to_text(value, max_bytes_));
      out += text;
    } else {
      return Error{.status = Status::format,
                   .message = fmt::format("a {} has no JSON form", type_name(value))};
    }
    return {};
  }

  std::string out;

 private:
  Result<void> put_list(const List& list, unsigned level) {
    if (list.items.empty()) {
      out += "[]";
      return {};
    }
    out += '[';
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      ML_CHECK(separate(i, level + 1));
      ML_CHECK(put(list.items[i], level + 1));
    }
    ML_CHECK(break_line(level));
    out += ']';
    return {};
  }

  Result<void> put_dict(const Dict& dict, unsigned level) {
    if (dict.items.empty()) {
      out += "{}";
      return {};
    }
    out += '{';
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      ML_CHECK(separate(i, level + 1));
      ML_CHECK(quote(*dict.items[i].first));
      out += separators_.key;
      ML_CHECK(put(dict.items[i].second, level + 1));
    }
    ML_CHECK(break_line(level));
    out += '}';
    return {};
  }

  Result<void> check_room(std::size_t n_bytes) const {
    if (out.size() <= max_bytes_ && n_bytes <= max_bytes_ - out.size()) return {};
    return too_much_text();
  }

  Result<void> separate(std::size_t i, unsigned level) {
    if (i > 0) out += separators_.item;
    return break_line(level);
  }

  Result<void> break_line(unsigned level) {
    if (indent_ < 0) return {};
    const std::size_t n_blanks = static_cast<std::size_t>(indent_) * level;
    ML_CHECK(check_room(n_blanks));
    out += '\n';
    out.append(n_blanks, ' ');
    return {};
  }

  Result<void> quote(const std::string& text) {
    out += '"';
    for (const char c : text) {
      ML_CHECK(check_room(0));
      switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        case '\f': out += "\\f"; break;
        case '\b': out += "\\b"; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
          } else {
            out += c;
          }
      }
    }
    out += '"';
    return {};
  }

  std::int64_t indent_;
  Separators separators_;
  std::size_t max_bytes_;
};

}  // namespace

Result<std::string> to_json(const Value& value, std::int64_t indent,
                            const std::optional<Separators>& separators, std::size_t max_bytes) {
  Writer writer(indent, separators.value_or(Separators{indent < 0 ? ", " : ",", ": "}), max_bytes);
  ML_CHECK(writer.put(value, 0));
  return std::move(writer.out);
}

Result<Value> from_json(std::string_view text) {
  Reader reader;
  try {
    if (json::sax_parse(text.begin(), text.end(), &reader)) return std::move(reader.result);
  } catch (const json::exception&) {
    return Error{.status = Status::format, .message = "not JSON"};
  }
  if (reader.error) return std::move(*reader.error);
  // The strict reader says what is wrong and where.
  ML_CHECK(parse_json(text));
  return Error{.status = Status::format, .message = "not JSON"};
}

}  // namespace ml::chat
