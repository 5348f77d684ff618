#include "chat/names.hpp"

#include <set>

namespace ml::chat {

namespace {

using Names = std::set<std::string_view>;

const Names& text_methods() {
  static const Names names = {
      "capitalize", "casefold",     "center",       "count",   "encode",     "endswith",    "expandtabs",
      "find",       "format",       "format_map",   "index",   "isalnum",    "isalpha",     "isascii",
      "isdecimal",  "isdigit",      "isidentifier", "islower", "isnumeric",  "isprintable", "isspace",
      "istitle",    "isupper",      "join",         "ljust",   "lower",      "lstrip",      "maketrans",
      "partition",  "removeprefix", "removesuffix", "replace", "rfind",      "rindex",      "rjust",
      "rpartition", "rsplit",       "rstrip",       "split",   "splitlines", "startswith",  "strip",
      "swapcase",   "title",        "translate",    "upper",   "zfill"};
  return names;
}

PythonAttribute of_dict(std::string_view name) {
  static const Names methods = {"get", "items", "keys", "values", "copy", "fromkeys"};
  static const Names forbidden = {"clear", "pop", "popitem", "setdefault", "update"};
  if (methods.contains(name)) return PythonAttribute::method;
  return forbidden.contains(name) ? PythonAttribute::refused : PythonAttribute::none;
}

PythonAttribute of_list(ListKind kind, std::string_view name) {
  if (kind > ListKind::tuple) {
    static const Names names = {"isdisjoint", "mapping", "close", "send",  "throw",
                                "start",      "stop",    "step",  "count", "index"};
    return names.contains(name) || name.starts_with("gi_") ? PythonAttribute::refused : PythonAttribute::none;
  }
  if (name == "count" || name == "index") return PythonAttribute::method;
  static const Names others = {"append", "clear",  "copy",    "extend", "insert",
                               "pop",    "remove", "reverse", "sort"};
  if (kind == ListKind::list && others.contains(name)) return PythonAttribute::refused;
  return PythonAttribute::none;
}

PythonAttribute of_number(std::string_view name) {
  static const Names names = {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
                              "from_bytes",       "fromhex",   "hex",        "imag",      "is_integer",
                              "numerator",        "real",      "to_bytes"};
  return names.contains(name) ? PythonAttribute::refused : PythonAttribute::none;
}

}  // namespace

PythonAttribute python_attribute(const Value& value, std::string_view name) {
  if (std::holds_alternative<Text>(value)) {
    return text_methods().contains(name) ? PythonAttribute::method : PythonAttribute::none;
  }
  if (std::holds_alternative<DictRef>(value)) return of_dict(name);
  if (const auto* list = std::get_if<ListRef>(&value)) return of_list((*list)->kind, name);
  if (is_number(value)) return of_number(name);
  if (std::holds_alternative<LoopRef>(value)) {
    return name == "cycle" || name == "changed" ? PythonAttribute::refused : PythonAttribute::none;
  }
  if (std::holds_alternative<None>(value) || std::holds_alternative<NamespaceRef>(value) ||
      std::holds_alternative<Opaque>(value))
    return PythonAttribute::none;
  return PythonAttribute::refused;
}

}  // namespace ml::chat
