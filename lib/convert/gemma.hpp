#pragma once

#include "convert/family.hpp"

namespace ml {

/// Gemma 1: norms of 1 + w, a scaled embedding, GELU.
extern const Family kGemmaFamily;
/// Gemma 2: post norms, soft caps, a window on every other layer.
extern const Family kGemma2Family;
/// Gemma 3, the text part: post norms, norms of queries and keys, local layers with a window and a RoPE base
/// of their own.
extern const Family kGemma3Family;

}  // namespace ml
