#pragma once

#include <ml/model.hpp>

namespace ml {

/// Vectors and matrices whose rows rotate (mlb(5), ROPE).
inline bool rotates(Role role) {
  return role == Role::wq || role == Role::wk || role == Role::bq || role == Role::bk ||
         role == Role::q_norm || role == Role::k_norm;
}

/// The rotate-half row that becomes row `row` of interleaved pairs, in heads of head_dim rows whose first
/// rot_dim rotate.
inline std::uint64_t rotate_half_row(std::uint64_t row, std::uint64_t head_dim, std::uint64_t rot_dim) {
  const std::uint64_t in_head = row % head_dim;
  if (in_head >= rot_dim) return row;
  return row - in_head + in_head / 2 + (in_head % 2 != 0 ? rot_dim / 2 : 0);
}

}  // namespace ml
