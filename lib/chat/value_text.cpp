// str() and repr() of values.

#include "chat/text.hpp"
#include "chat/value.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ml::chat {

namespace {

std::string real_text(double real) {
  if (std::isnan(real)) return "nan";
  if (std::isinf(real)) return real < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", real);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Appends to one text, which may not grow beyond a limit.
class Printer {
 public:
  explicit Printer(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  std::string out;

  // str()
  Result<void> put(const Value& value) {
    if (const auto* text = std::get_if<Text>(&value)) return append(**text);
    if (std::holds_alternative<Undefined>(value)) return {};
    if (std::holds_alternative<None>(value)) return append("None");
    if (const auto* flag = std::get_if<bool>(&value)) return append(*flag ? "True" : "False");
    if (const auto* number = std::get_if<std::int64_t>(&value)) return append(fmt::format("{}", *number));
    if (const auto* real = std::get_if<double>(&value)) return append(real_text(*real));
    if (const auto* list = std::get_if<ListRef>(&value)) return put_list(**list);
    if (const auto* dict = std::get_if<DictRef>(&value)) return put_dict(**dict);
    return Error{.status = Status::unsupported, .message = fmt::format("printing a {}", type_name(value))};
  }

 private:
  Result<void> append(std::string_view text) {
    if (text.size() > max_bytes_ - out.size()) return too_much_text();
    out += text;
    return {};
  }

  // repr()
  Result<void> put_item(const Value& value) {
    if (const auto* text = std::get_if<Text>(&value)) return quote(**text);
    if (std::holds_alternative<Undefined>(value)) return append("Undefined");
    return put(value);
  }

  Result<void> quote(const std::string& text) {
    const char quote =
        text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
    ML_CHECK(append({&quote, 1}));
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) {
        return Error{.status = Status::unsupported,
                     .message = "printing a list or dict that holds text beyond ASCII"};
      }
      if (c == quote || c == '\\') {
        ML_CHECK(append("\\"));
        ML_CHECK(append({&c, 1}));
      } else if (c == '\n') {
        ML_CHECK(append("\\n"));
      } else if (c == '\r') {
        ML_CHECK(append("\\r"));
      } else if (c == '\t') {
        ML_CHECK(append("\\t"));
      } else if (byte < 0x20 || byte == 0x7f) {
        ML_CHECK(append(fmt::format("\\x{:02x}", byte)));
      } else {
        ML_CHECK(append({&c, 1}));
      }
    }
    return append({&quote, 1});
  }

  Result<void> put_list(const List& list) {
    if (list.kind == ListKind::view || list.kind == ListKind::generator || list.kind == ListKind::range) {
      return Error{.status = Status::unsupported,
                   .message = fmt::format("printing a {}", kind_name(list.kind))};
    }
    const bool tuple = list.kind == ListKind::tuple;
    ML_CHECK(append(tuple ? "(" : "["));
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) ML_CHECK(append(", "));
      ML_CHECK(put_item(list.items[i]));
    }
    if (tuple && list.items.size() == 1) ML_CHECK(append(","));
    return append(tuple ? ")" : "]");
  }

  Result<void> put_dict(const Dict& dict) {
    ML_CHECK(append("{"));
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      if (i > 0) ML_CHECK(append(", "));
      ML_CHECK(quote(*dict.items[i].first));
      ML_CHECK(append(": "));
      ML_CHECK(put_item(dict.items[i].second));
    }
    return append("}");
  }

  std::uint64_t max_bytes_;
};

}  // namespace

Result<std::string> to_text(const Value& value, std::uint64_t max_bytes) {
  Printer printer(max_bytes);
  ML_CHECK(printer.put(value));
  return std::move(printer.out);
}

}  // namespace ml::chat
