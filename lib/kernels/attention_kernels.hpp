#pragma once

// Attention, written once over sixteen lanes (ml-numerics(7), rule 6). Include after a lanes header.
//
// Keys come in blocks of 64 aligned to absolute positions. For each block and query: scores, the new maximum
// m, the weights e^(score - m), and sum and output rescaled by e^(old m - m). Keys outside [first, last]
// weigh e^-infinity = 0, and their values are not touched.
//
// A few queries read the cache row by row, up to four at a time. More of them share each block, decoded once:
// keys as [padded dimension][64], so that lanes are keys, values as [64][padded dimension].

#include "kernels/exp_lanes.hpp"
#include "kernels/table.hpp"
#include "kernels/tile_sums.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

// Rows of a cache: load(row, dim, d, n) gives elements d .. d + n - 1 of a row of dim, n <= 16, and zeros.
struct CacheF32 {
  static std::uint64_t row_bytes(std::uint64_t head_dim) { return 4 * head_dim; }
  static Floats load(const unsigned char* row, std::uint64_t, std::uint64_t d, std::uint64_t n) {
    const float* from = reinterpret_cast<const float*>(row) + d;
    return n == kLanes ? kernels::load(from) : load_n(from, n);
  }
};
struct CacheF16 {
  static std::uint64_t row_bytes(std::uint64_t head_dim) { return 2 * head_dim; }
  static Floats load(const unsigned char* row, std::uint64_t, std::uint64_t d, std::uint64_t n) {
    return n == kLanes ? load_f16(row + 2 * d) : load_f16_n(row + 2 * d, n);
  }
};
struct CacheQ8 {
  static std::uint64_t row_bytes(std::uint64_t head_dim) { return q8_row_bytes(head_dim); }
  static Floats load(const unsigned char* row, std::uint64_t head_dim, std::uint64_t d, std::uint64_t) {
    const unsigned char* scales = row + q8_row_blocks(head_dim) * kBlockWeights;
    return mul(load_i8(row + d), broadcast_f32(scales + d / kBlockWeights * 4));  // padding quants are zero
  }
};

inline constexpr int kQueryTile = 4;
inline constexpr std::uint64_t kWorthDecoding = 8;  // queries

// What a query has met so far; its output is summed in place.
struct SoftmaxState {
  float maximum;
  float sum;
};

// The part of a block that a query sees: keys [begin, end).
struct Visible {
  std::uint64_t begin, end;
};
inline Visible visible(const AttentionQuery& query, std::uint64_t block) {
  if (query.last < block || query.first >= block + kKeyBlock) return {0, 0};
  return {query.first > block ? query.first - block : 0,
          query.last - block < kKeyBlock ? query.last - block + 1 : kKeyBlock};
}

inline bool any_sees(const AttentionQuery* tile, std::uint64_t block) {
  bool any = false;
  for (int t = 0; t < kQueryTile; ++t) any = any || tile[t].last >= block;
  return any;
}

// Scores become weights; the result is what the output so far is to be multiplied with.
inline float soften(const AttentionArgs& args, Visible keys, float* scores, SoftmaxState& state) {
  const float minus_infinity = -__builtin_inff();
  if (args.softcap != 0.0f) softcap(scores, kKeyBlock, args.softcap);
  for (std::uint64_t j = 0; j < keys.begin; ++j) scores[j] = minus_infinity;
  for (std::uint64_t j = keys.end; j < kKeyBlock; ++j) scores[j] = minus_infinity;
  Floats largest = set1(state.maximum);
  for (std::uint64_t j = 0; j < kKeyBlock; j += kLanes) largest = max(load(scores + j), largest);
  const float maximum = fold_max(largest);
  float rescale[kLanes] = {1.0f};
  const float fall = state.maximum - maximum;
  if (!(fall == 0.0f)) store(rescale, exp_lanes(set1(fall)));
  Floats sum = set1(0.0f);
  for (std::uint64_t j = 0; j < kKeyBlock; j += kLanes) {
    const Floats weights = exp_lanes(sub(load(scores + j), set1(maximum)));
    store(scores + j, weights);
    sum = add(sum, weights);
  }
  state.sum = state.sum * rescale[0] + fold_add(sum);
  state.maximum = maximum;
  return rescale[0];
}

// Dimensions [d, d + kD * 16) of kT outputs: out = out * rescale, then the values of keys in order.
template <int kD, int kT, class LoadValue>
inline void add_values(const AttentionQuery* queries, const float (*weights)[kKeyBlock], const float* rescale,
                       Visible keys, std::uint64_t value_dim, std::uint64_t d, LoadValue load_value) {
  TileSums<kD, kT> sums;
  const auto left = [&](int g) { return lanes_left(value_dim, d + g * kLanes); };
  sums.update([&](int g, int t) {
    const Floats before = load_n(queries[t].out + d + g * kLanes, left(g));
    return rescale == nullptr ? before : mul(before, set1(rescale[t]));
  });
  for (std::uint64_t j = keys.begin; j < keys.end; ++j) {
    Floats value[kD];
#pragma GCC unroll 8
    for (int g = 0; g < kD; ++g) value[g] = load_value(j, d + g * kLanes, left(g));
    sums.update([&](int g, int t) { return fma(set1(weights[t][j]), value[g], sums.group[g][t]); });
  }
#pragma GCC unroll 8
  for (int g = 0; g < kD; ++g) {
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) store_n(queries[t].out + d + g * kLanes, sums.group[g][t], left(g));
  }
}
template <int kD, int kT, class LoadValue>
inline void add_all_values(const AttentionQuery* queries, const float (*weights)[kKeyBlock],
                           const float* rescale, Visible keys, std::uint64_t value_dim,
                           LoadValue load_value) {
  std::uint64_t d = 0;
  for (; d + kD * kLanes <= value_dim; d += kD * kLanes) {
    add_values<kD, kT>(queries, weights, rescale, keys, value_dim, d, load_value);
  }
  for (; d < value_dim; d += kLanes) {
    add_values<1, kT>(queries, weights, rescale, keys, value_dim, d, load_value);
  }
}

inline void begin_query(const AttentionArgs& args, const AttentionQuery& query, SoftmaxState& state) {
  state = {-__builtin_inff(), 0.0f};
  for (std::uint64_t d = 0; d < args.value_dim; d += kLanes) {
    store_n(query.out + d, set1(0.0f), lanes_left(args.value_dim, d));
  }
}
inline void end_query(const AttentionArgs& args, const AttentionQuery& query, const SoftmaxState& state) {
  const Floats inverse = set1(1.0f / state.sum);
  for (std::uint64_t d = 0; d < args.value_dim; d += kLanes) {
    const std::uint64_t left = lanes_left(args.value_dim, d);
    store_n(query.out + d, mul(load_n(query.out + d, left), inverse), left);
  }
}

// What kT queries see of a block.
template <int kT>
struct SeenByTile {
  Visible each[kT];
  Visible any, all;  // keys that at least one sees, and that every one sees

  SeenByTile(const AttentionQuery* queries, std::uint64_t block) : any{kKeyBlock, 0}, all{0, kKeyBlock} {
    for (int t = 0; t < kT; ++t) {
      each[t] = visible(queries[t], block);
      all.begin = each[t].begin > all.begin ? each[t].begin : all.begin;
      all.end = each[t].end < all.end ? each[t].end : all.end;
      if (!sees(t)) continue;
      any.begin = each[t].begin < any.begin ? each[t].begin : any.begin;
      any.end = each[t].end > any.end ? each[t].end : any.end;
    }
    if (all.begin >= all.end) all = {kKeyBlock, kKeyBlock};
  }
  bool sees(int t) const { return each[t].begin < each[t].end; }
};

// Softens a tile's scores of a block and adds its values to the outputs; those that not all queries see are
// added for each query alone.
template <int kD, int kT, class LoadValue>
inline void finish_tile(const AttentionArgs& args, const AttentionQuery* queries, SoftmaxState* states,
                        const SeenByTile<kT>& seen, float (*scores)[kKeyBlock], LoadValue load_value) {
  float rescale[kT];
  bool rescaled = false;
  const auto before = [&](int t) {
    return Visible{seen.each[t].begin, seen.each[t].end < seen.all.begin ? seen.each[t].end : seen.all.begin};
  };
  for (int t = 0; t < kT; ++t) {
    if (seen.sees(t)) rescale[t] = soften(args, seen.each[t], scores[t], states[t]);
    rescaled = rescaled || before(t).begin < before(t).end;
  }
  const auto add_alone = [&](int t, const float* factor, Visible part) {
    add_all_values<kD, 1>(queries + t, scores + t, factor, part, args.value_dim, load_value);
  };
  if (rescaled) {
    for (int t = 0; t < kT; ++t) {
      if (seen.sees(t)) add_alone(t, rescale + t, before(t));
    }
  }
  if (seen.all.begin == kKeyBlock) return;
  add_all_values<kD, kT>(queries, scores, rescaled ? nullptr : rescale, seen.all, args.value_dim, load_value);
  for (int t = 0; t < kT; ++t) {
    if (seen.all.end < seen.each[t].end) add_alone(t, nullptr, {seen.all.end, seen.each[t].end});
  }
}

// Scores of kT queries and those keys of a block that any of them sees, rows of the cache; the others get 0.
template <class Cache, int kT>
inline void score_rows(const AttentionArgs& args, const AttentionQuery* queries, const unsigned char* keys,
                       Visible seen, float (*scores)[kKeyBlock]) {
  const std::uint64_t head_dim = args.head_dim;
  for (std::uint64_t j = 0; j < kKeyBlock; j += kLanes) {
    Floats dots[kT][kLanes];
    for (std::uint64_t i = 0; i < kLanes; ++i) {
      Floats dot[kT];
      for (int t = 0; t < kT; ++t) dot[t] = set1(0.0f);
      if (j + i >= seen.begin && j + i < seen.end) {
        const unsigned char* key = keys + (j + i) * Cache::row_bytes(head_dim);
        const auto add_part = [&](std::uint64_t d, std::uint64_t n) {
          const Floats part = Cache::load(key, head_dim, d, n);
          for (int t = 0; t < kT; ++t) dot[t] = fma(load(queries[t].query + d), part, dot[t]);
        };
        std::uint64_t d = 0;
        for (; d + 4 * kLanes <= head_dim; d += 4 * kLanes) {
          for (int k = 0; k < 4; ++k) add_part(d + k * kLanes, kLanes);
        }
        for (; d < head_dim; d += kLanes) add_part(d, lanes_left(head_dim, d));
      }
      for (int t = 0; t < kT; ++t) dots[t][i] = dot[t];
    }
    for (int t = 0; t < kT; ++t) store(scores[t] + j, mul(fold_rows(dots[t]), set1(args.scale)));
  }
}

// A few queries, row by row.
template <class Cache, int kT>
void attend_rows(const AttentionArgs& args, const AttentionQuery* queries) {
  const std::uint64_t row_bytes = Cache::row_bytes(args.head_dim);
  SoftmaxState states[kT];
  std::uint64_t first = queries[0].first;
  std::uint64_t last = 0;
  for (int t = 0; t < kT; ++t) {
    begin_query(args, queries[t], states[t]);
    first = queries[t].first < first ? queries[t].first : first;
    last = queries[t].last > last ? queries[t].last : last;
  }
  for (std::uint64_t block = first / kKeyBlock * kKeyBlock; block <= last; block += kKeyBlock) {
    const SeenByTile<kT> seen(queries, block);
    const std::uint64_t ring_offset = block % args.capacity * row_bytes;
    const unsigned char* values = static_cast<const unsigned char*>(args.values) + ring_offset;
    float scores[kT][kKeyBlock];
    score_rows<Cache, kT>(args, queries, static_cast<const unsigned char*>(args.keys) + ring_offset, seen.any,
                          scores);
    finish_tile<4, kT>(args, queries, states, seen, scores,
                       [&](std::uint64_t j, std::uint64_t d, std::uint64_t n) {
                         return Cache::load(values + j * row_bytes, args.head_dim, d, n);
                       });
  }
  for (int t = 0; t < kT; ++t) end_query(args, queries[t], states[t]);
}

// Rows of a block as floats; to[row * stride + d].
template <class Cache>
inline void decode_rows(const unsigned char* rows, std::uint64_t n_rows, std::uint64_t head_dim, float* to) {
  const std::uint64_t stride = padded_floats(head_dim);
  for (std::uint64_t j = 0; j < n_rows; ++j) {
    for (std::uint64_t d = 0; d < stride; d += kLanes) {
      store(to + j * stride + d,
            Cache::load(rows + j * Cache::row_bytes(head_dim), head_dim, d, lanes_left(head_dim, d)));
    }
  }
}
// Keys of a block, to[d * 64 + key]; rows is memory for sixteen of them or, where keep is set, gets them all.
template <class Cache>
inline void decode_keys(const unsigned char* keys, std::uint64_t n_keys, std::uint64_t head_dim, bool keep,
                        float* rows, float* to) {
  const std::uint64_t stride = padded_floats(head_dim);
  for (std::uint64_t j = 0; j < n_keys; j += kLanes, rows += keep ? kLanes * stride : 0) {
    const unsigned char* row_starts[kLanes];
    for (std::uint64_t i = 0; i < kLanes; ++i)
      row_starts[i] = reinterpret_cast<const unsigned char*>(rows + i * stride);
    decode_rows<Cache>(keys + j * Cache::row_bytes(head_dim), lanes_left(n_keys, j), head_dim, rows);
    for (std::uint64_t d = 0; d < stride; d += 4) {
      Bytes columns[4];
      load_columns(row_starts, d * sizeof(float), columns);
      for (std::uint64_t k = 0; k < 4; ++k) store_quads(to + (d + k) * kKeyBlock + j, columns[k]);
    }
  }
}

// Scores of kQueryTile queries and all keys of a block.
inline void score_tile(const AttentionArgs& args, const AttentionQuery* queries, const float* keys,
                       float (*scores)[kKeyBlock]) {
  const std::uint64_t padded = padded_floats(args.head_dim);
  for (std::uint64_t j = 0; j < kKeyBlock; j += kKeyGroups * kLanes) {
    const auto scored = sum_in_fold_order<kKeyGroups, kQueryTile>([&](std::uint64_t lane, auto& sums) {
      for (std::uint64_t d = lane; d < padded; d += kLanes) {
        Floats key[kKeyGroups];
#pragma GCC unroll 8
        for (int g = 0; g < kKeyGroups; ++g) key[g] = load(keys + d * kKeyBlock + j + g * kLanes);
        sums.update([&](int g, int t) { return fma(set1(queries[t].query[d]), key[g], sums.group[g][t]); });
      }
    });
    const Floats scale = set1(args.scale);
    for (int t = 0; t < kQueryTile; ++t) {
      for (int g = 0; g < kKeyGroups; ++g) store(scores[t] + j + g * kLanes, mul(scored.group[g][t], scale));
    }
  }
}

// A tile against one decoded block.
inline void attend_tile(const AttentionArgs& args, const AttentionQuery* queries, SoftmaxState* states,
                        std::uint64_t block, const float* keys, const float* values) {
  const std::uint64_t padded = padded_floats(args.head_dim);
  float scores[kQueryTile][kKeyBlock];
  score_tile(args, queries, keys, scores);
  finish_tile<kDimGroups, kQueryTile>(
      args, queries, states, SeenByTile<kQueryTile>(queries, block), scores,
      [&](std::uint64_t j, std::uint64_t d, std::uint64_t) { return load(values + j * padded + d); });
}

template <class Cache>
void attend(const AttentionArgs& args) {
  const std::uint64_t n_tiled =
      args.n_queries < kWorthDecoding ? 0 : args.n_queries / kQueryTile * kQueryTile;
  for (std::uint64_t i = n_tiled; i < args.n_queries; i += kQueryTile) {
    switch (args.n_queries - i) {
      case 1: attend_rows<Cache, 1>(args, args.queries + i); break;
      case 2: attend_rows<Cache, 2>(args, args.queries + i); break;
      case 3: attend_rows<Cache, 3>(args, args.queries + i); break;
      default: attend_rows<Cache, kQueryTile>(args, args.queries + i);
    }
  }
  if (n_tiled == 0) return;

  const std::uint64_t padded = padded_floats(args.head_dim);
  const std::uint64_t row_bytes = Cache::row_bytes(args.head_dim);
  float* keys = args.scratch;
  float* values = keys + kKeyBlock * padded;
  float* rows = values + kKeyBlock * padded;
  SoftmaxState states[kMaxQueries];
  std::uint64_t first = args.queries[0].first;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < n_tiled; ++i) {
    const AttentionQuery& query = args.queries[i];
    begin_query(args, query, states[i]);
    first = query.first < first ? query.first : first;
    last = query.last > last ? query.last : last;
  }
  for (std::uint64_t block = first / kKeyBlock * kKeyBlock; block <= last; block += kKeyBlock) {
    const std::uint64_t n_keys = last - block < kKeyBlock ? last - block + 1 : kKeyBlock;
    const std::uint64_t ring_offset = block % args.capacity * row_bytes;
    const bool same = args.values == args.keys;
    decode_keys<Cache>(static_cast<const unsigned char*>(args.keys) + ring_offset, n_keys, args.head_dim,
                       same, same ? values : rows, keys);
    if (!same) {
      decode_rows<Cache>(static_cast<const unsigned char*>(args.values) + ring_offset, n_keys, args.head_dim,
                         values);
    }
    for (std::uint64_t i = 0; i < n_tiled; i += kQueryTile) {
      if (any_sees(args.queries + i, block))
        attend_tile(args, args.queries + i, states + i, block, keys, values);
    }
  }
  for (std::uint64_t i = 0; i < n_tiled; ++i) end_query(args, args.queries[i], states[i]);
}

}  // namespace
}  // namespace ml::kernels
