#pragma once

#include "convert/family.hpp"

namespace ml {

/// Qwen3.5 and 3.6 (dense), the text part: gated delta layers between attention layers with gates, partial
/// rotary.
extern const Family kQwen35Family;

}  // namespace ml
