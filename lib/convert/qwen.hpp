#pragma once

#include "convert/family.hpp"

namespace ml {

/// Qwen2 and Qwen2.5: biases of q, k and v, a window only where use_sliding_window says so.
extern const Family kQwen2Family;
/// Qwen3 (dense): norms of queries and keys, a head size of its own.
extern const Family kQwen3Family;

}  // namespace ml
