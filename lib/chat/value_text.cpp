// str() and repr() of values.

#include "chat/value.hpp"

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

Result<std::string> quoted(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      return Error{.status = Status::unsupported,
                   .message = "printing a list or dict that holds text beyond ASCII"};
    }
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += quote;
  return out;
}

Result<std::string> repr(const Value& value);

Result<std::string> list_text(const List& list) {
  if (list.kind == ListKind::view || list.kind == ListKind::generator || list.kind == ListKind::range) {
    return Error{.status = Status::unsupported,
                 .message = fmt::format("printing a {}", kind_name(list.kind))};
  }
  const bool tuple = list.kind == ListKind::tuple;
  std::string out = tuple ? "(" : "[";
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    auto item = repr(list.items[i]);
    if (!item) return item;
    if (i > 0) out += ", ";
    out += *item;
  }
  if (tuple && list.items.size() == 1) out += ',';
  out += tuple ? ')' : ']';
  return out;
}

Result<std::string> dict_text(const Dict& dict) {
  std::string out = "{";
  for (const auto& [key, value] : dict.items) {
    auto name = quoted(*key);
    if (!name) return name;
    auto item = repr(value);
    if (!item) return item;
    if (out.size() > 1) out += ", ";
    out += *name + ": " + *item;
  }
  return out + "}";
}

Result<std::string> repr(const Value& value) {
  if (const auto* text = std::get_if<Text>(&value)) return quoted(**text);
  if (std::holds_alternative<Undefined>(value)) return std::string("Undefined");
  return to_text(value);
}

}  // namespace

Result<std::string> to_text(const Value& value) {
  if (const auto* text = std::get_if<Text>(&value)) return **text;
  if (std::holds_alternative<Undefined>(value)) return std::string();
  if (std::holds_alternative<None>(value)) return std::string("None");
  if (const auto* flag = std::get_if<bool>(&value)) return std::string(*flag ? "True" : "False");
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* real = std::get_if<double>(&value)) return real_text(*real);
  if (const auto* list = std::get_if<ListRef>(&value)) return list_text(**list);
  if (const auto* dict = std::get_if<DictRef>(&value)) return dict_text(**dict);
  return Error{.status = Status::unsupported, .message = fmt::format("printing a {}", type_name(value))};
}

}  // namespace ml::chat
