#pragma once

#include "chat/ast.hpp"

#include <string_view>

namespace ml::chat {

/// @error format, unsupported, limit  as ChatTemplate::parse
Result<Template> parse_template(std::string_view source);

}  // namespace ml::chat
