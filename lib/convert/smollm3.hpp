#pragma once

#include "convert/family.hpp"

namespace ml {

/// SmolLM3: a Llama with layers that leave queries and keys unrotated.
extern const Family kSmolLm3Family;

}  // namespace ml
