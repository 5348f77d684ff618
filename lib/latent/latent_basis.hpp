#pragma once

#include "latent/dense.hpp"

#include <cstdint>
#include <functional>

namespace ml {

/// Ordinary attention of one layer, its rows in double.
struct HeadWeights {
  std::uint64_t n_heads = 0;
  std::uint64_t n_kv_heads = 0;
  Dense wq;  ///< [n_heads * 128][dim]
  Dense wk;  ///< [n_kv_heads * 128][dim]
  Dense wv;  ///< [n_kv_heads * 128][dim]
};

/// Latent attention of one layer (nanoseedlm(5), LATENT ATTENTION), and what it cost.
struct LatentWeights {
  Dense kv_a_x;              ///< [rank][dim]
  Dense k_rope_proj;         ///< [128][dim]
  Dense q_rope_mix;          ///< [n_heads * 128][128]
  Dense q_lat;               ///< [n_heads * rank][128]
  Dense v_up;                ///< [n_heads * 128][rank]
  double rotation_lost = 0;  ///< share of the keys' energy, as queries weigh it, that rotates no more
  double latent_lost = 0;    ///< share of the energy of unrotated keys and values that the rank leaves out
};

/// Fits latent attention to ordinary attention (seed-pack(1), LATENT ATTENTION): for each frequency of the
/// rotation one key of all heads, the best for the queries; what it leaves of each head's key, and the
/// values, go to the `rank` main directions.
///
/// @param inputs    E[x x^T] with full rank
/// @param rank      at least 1
/// @param lat_scale factor of the scores of rotated keys (yarn), which the others get by weight
/// @cost            products of 4 * 128 n_kv_heads x dim x dim doubles, eigenvectors of 256 n_kv_heads rows
LatentWeights fit_latent(ThreadPool& pool, const HeadWeights& heads, const Dense& inputs, std::uint64_t rank,
                         double lat_scale, const std::function<void(double)>& progress = {});

}  // namespace ml
