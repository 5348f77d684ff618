#pragma once

#include "chat/value.hpp"

namespace ml::chat {

/// What an attribute is that a value has because of its type in Python, before any data of that name.
enum class PythonAttribute : std::uint8_t {
  none,     ///< the type has none of that name
  method,   ///< there; whether it can be called is another matter
  refused,  ///< not known here, or forbidden in the reference's sandbox
};

PythonAttribute python_attribute(const Value& value, std::string_view name);

}  // namespace ml::chat
