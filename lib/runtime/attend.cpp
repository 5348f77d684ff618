#include "runtime/attend.hpp"

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

// Queries of consecutive tokens and of heads that share their keys.
struct Piece {
  const Run* run;
  std::uint64_t row;  // of its first token
  std::uint64_t n_tokens;
  std::uint32_t head;
  std::uint32_t n_heads;
};

// Heads that share their keys stay together, but for as many threads as there are; kernels take four at a
// time.
std::uint32_t heads_a_piece(const AttendHeads& heads, std::uint64_t n_tokens, unsigned n_threads) {
  constexpr std::uint64_t kTogether = 4;
  const std::uint64_t group = heads.n_heads / heads.n_kv_heads;
  const std::uint64_t all = n_tokens * heads.n_heads;
  const std::uint64_t share = (all / n_threads + kTogether - 1) / kTogether * kTogether;
  const std::uint64_t most = std::min(group, kernels::kMaxQueries);
  return static_cast<std::uint32_t>(std::clamp(share, std::min(kTogether, most), most));
}

std::vector<Piece> attention_pieces(const AttendHeads& heads, const Batch& batch, unsigned n_threads) {
  const std::uint32_t group = heads.n_heads / heads.n_kv_heads;
  const std::uint32_t n_heads = heads_a_piece(heads, batch.n_tokens(), n_threads);
  const std::uint64_t n_tokens = kernels::kMaxQueries / n_heads;
  std::vector<Piece> pieces;
  for (const Run& run : batch.runs()) {
    for (std::uint64_t row = 0; row < run.n_tokens; row += n_tokens) {
      const std::uint64_t n_rows = std::min(n_tokens, run.n_tokens - row);
      for (std::uint32_t head = 0; head < heads.n_heads; head += pieces.back().n_heads) {
        pieces.push_back({&run, run.first + row, n_rows, head, std::min(n_heads, group - head % group)});
      }
    }
  }
  return pieces;
}

}  // namespace

void attend(Workspace& workspace, const ModelDesc& desc, std::uint32_t layer_index, const Batch& batch,
            const AttendHeads& heads) {
  const std::uint64_t padded = kernels::padded_floats(heads.query_dim);
  const std::uint32_t group = heads.n_heads / heads.n_kv_heads;
  const float scale =
      desc.attn_scale != 0 ? desc.attn_scale : 1.0f / std::sqrt(static_cast<float>(desc.head_dim));
  const std::uint64_t window = desc.layers[layer_index].windowed ? desc.sliding_window : 0;
  const std::vector<Piece> pieces = attention_pieces(heads, batch, workspace.pool.n_threads());
  const auto attend_piece = [&](unsigned thread, const Piece& piece) {
    kernels::AttentionQuery queries[kernels::kMaxQueries];
    std::uint64_t n = 0;
    for (std::uint64_t row = piece.row; row < piece.row + piece.n_tokens; ++row) {
      const std::uint64_t last = batch.position(row);
      for (std::uint64_t head = piece.head; head < piece.head + piece.n_heads; ++head) {
        queries[n++] = {.query = heads.queries + (row * heads.n_heads + head) * padded,
                        .out = heads.out + row * heads.out_stride + head * heads.value_dim,
                        .first = window != 0 && last + 1 > window ? last + 1 - window : 0,
                        .last = last};
      }
    }
    const KvCache& cache = piece.run->sequence->cache(layer_index);
    workspace.table.attend[static_cast<std::size_t>(cache.type())](
        {.queries = queries,
         .n_queries = n,
         .keys = cache.keys(piece.head / group),
         .values = cache.values(piece.head / group),
         .capacity = cache.capacity(),
         .head_dim = heads.query_dim,
         .value_dim = heads.value_dim,
         .scale = scale,
         .softcap = desc.attn_softcap,
         .scratch = reinterpret_cast<float*>(workspace.scratch.of_thread(thread))});
  };
  // Little work is done by one thread.
  constexpr std::uint64_t kWorthAThread = 1u << 15;
  std::uint64_t n_keys = 0;
  for (const Run& run : batch.runs()) n_keys = std::max(n_keys, run.position + run.n_tokens);
  const std::uint64_t work = batch.n_tokens() * heads.n_heads * n_keys * heads.query_dim;
  workspace.pool.run_threads(pieces.size(), work < kWorthAThread ? pieces.size() : 1,
                             [&](unsigned thread, std::uint64_t begin, std::uint64_t end) {
                               for (std::uint64_t i = begin; i < end; ++i) attend_piece(thread, pieces[i]);
                             });
}

}  // namespace ml
