#pragma once

// Values of templates, as Python has them. They never change once made, so none can hold itself. `height`
// bounds how deep they nest and with that every recursion over them; `weight` counts what a walk over one
// passes, as a few lists that hold each other twice would make an endless one.

#include <ml/status.hpp>

#include "util/text_hash.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ml::chat {

/// Containers inside each other that a template may build.
inline constexpr unsigned kMaxHeight = 96;
/// Parts that a value may have, those counted often that it holds often; 16 bytes of text are one.
inline constexpr std::uint64_t kMaxWeight = 1 << 24;

struct List;
struct Dict;
struct LoopState;
struct Statement;

struct Undefined {
  std::shared_ptr<const std::string> name;  ///< what was looked up, for messages
};
struct None {};
struct NamespaceRef {
  std::size_t index = 0;
};
struct MacroRef {
  const Statement* macro = nullptr;
};
struct Function {
  std::string_view name;
};
/// Something that is there but of which only that is known: a method that is not called.
struct Opaque {
  std::string_view what;
};

using Text = std::shared_ptr<const std::string>;
using ListRef = std::shared_ptr<const List>;
using DictRef = std::shared_ptr<const Dict>;
using LoopRef = std::shared_ptr<const LoopState>;

using Value = std::variant<Undefined, None, bool, std::int64_t, double, Text, ListRef, DictRef, LoopRef,
                           NamespaceRef, MacroRef, Function, Opaque>;

/// Python's kinds of sequences; a view is dict.items() and the like, a generator what map and select make.
enum class ListKind : std::uint8_t { list, tuple, range, view, generator };

struct List {
  ListKind kind = ListKind::list;
  std::vector<Value> items;
  unsigned height = 1;
  std::uint64_t weight = 1;
};

/// Pairs in the order in which they came. Keys are text.
struct Dict {
  std::vector<std::pair<Text, Value>> items;
  TextMap<std::size_t> places;
  unsigned height = 1;
  std::uint64_t weight = 1;

  const Value* find(std::string_view key) const;
};

/// What `loop` tells in one turn of a for.
struct LoopState {
  ListRef items;
  std::size_t index = 0;
  unsigned depth = 1;
};

inline Value text_value(std::string text) { return std::make_shared<const std::string>(std::move(text)); }
unsigned height_of(const Value& value);
std::uint64_t weight_of(const Value& value);

/// @error limit  nested deeper than kMaxHeight, heavier than kMaxWeight
Result<Value> make_list(std::vector<Value> items, ListKind kind = ListKind::list);
/// Of pairs with equal keys the last one counts, in the place of the first.
Result<Value> make_dict(std::vector<std::pair<Text, Value>> items);

std::string_view kind_name(ListKind kind);
/// Python's name for a value's type, or one that says more.
std::string_view type_name(const Value& value);
bool is_number(const Value& value);
std::int64_t as_integer(const Value& value);  ///< of an integer or boolean
double as_double(const Value& value);         ///< of a number

bool truth(const Value& value);
/// Python's ==.
/// @error unsupported  kinds that have no order of their own: generators, views, namespaces
Result<bool> equal(const Value& a, const Value& b);

/// str(value)
///
/// @error limit  more than max_bytes
Result<std::string> to_text(const Value& value, std::uint64_t max_bytes);
/// What stands between the items of JSON, and between a key and its value.
struct Separators {
  std::string item;
  std::string key;
};

/// json.dumps(value, ensure_ascii=False, indent=indent, separators=separators), indent < 0 for none
Result<std::string> to_json(const Value& value, std::int64_t indent,
                            const std::optional<Separators>& separators, std::size_t max_bytes);
/// json.loads(text): keys keep their order.
Result<Value> from_json(std::string_view text);

}  // namespace ml::chat
