#pragma once

#include "common/shard.hpp"
#include "ml_run/options.hpp"

#include <ml/model.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// A text in pieces that are evaluated one by one, each from an empty context.
struct Chunks {
  std::vector<std::uint32_t> text;
  std::optional<std::uint32_t> bos;  ///< before every chunk
  std::uint32_t size = 0;            ///< tokens of a chunk, BOS included; the last one may be shorter

  std::uint64_t n_text() const { return size - (bos ? 1 : 0); }
  std::uint64_t count() const { return (text.size() + n_text() - 1) / n_text(); }
  std::uint64_t n_tokens() const { return text.size() + (bos ? count() : 0); }
  std::vector<std::uint32_t> at(std::uint64_t i) const;
  /// Keeps the chunks of one shard: neighbours, so that an interrupted collection goes on in it.
  void keep(const Shard& shard);
};

/// --imatrix: collects the sums of squares of a model's inputs over a text, saving now and then.
///
/// @param chunks  size 0: the default; the text is not empty
/// @param inputs  files that the matrix must not replace
void collect_imatrix(Tool& tool, const RunOptions& options, const ml::Model& model, Chunks chunks,
                     const std::vector<std::string>& inputs);

}  // namespace cli
