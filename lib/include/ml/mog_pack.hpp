#pragma once

#include <ml/export.hpp>
#include <ml/mog.hpp>
#include <ml/output.hpp>
#include <ml/status.hpp>
#include <ml/target.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ml {

/// Another encoding for the tensors whose slots a pattern matches.
struct MogOverride {
  std::string glob;      ///< "layers.*.q_proj": *, ? and [...] as in a shell; * matches dots too
  std::string encoding;  ///< "int8_g32_f16"
};

struct MogPackOptions {
  std::string root = {};  ///< folder that the recipe's files are in; empty: that of the recipe
  std::vector<MogOverride> overrides = {};  ///< the last one that matches counts
  unsigned threads = 0;                     ///< 0: all cores; never changes a bit of the file
  Target target = Target::best;             ///< nor does this
  /// Called now and then, never from two threads at once, with bytes written and bytes in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// One tensor of the file.
struct MogPackedTensor {
  std::string slot = {};      ///< "layers.0.q_proj"
  std::string source = {};    ///< the checkpoint's name for it
  std::string file = {};      ///< path of the file that holds it
  std::string encoding = {};  ///< "int4_g64_f32"
  std::optional<std::size_t> override_row =
      {};  ///< which of MogPackOptions::overrides decided; else the recipe
  MlbArray array = {};
};

struct MogPackReport {
  std::string architecture = {};
  MogConfig config = {};
  std::uint64_t tokenizer_offset = 0;  ///< 0: none
  std::uint64_t tokenizer_bytes = 0;
  std::uint64_t directory_offset = 0;
  std::vector<MogPackedTensor> tensors = {};  ///< in file order
  std::uint64_t n_bytes = 0;                  ///< of the file
  std::uint64_t n_weights = 0;
  double bits_per_weight = 0;           ///< bits of all tensors (no padding) over n_weights
  std::vector<std::string> notes = {};  ///< what a user should know; a line each
};

/// A .mog that a recipe describes: everything is looked up and checked, nothing written.
class ML_API MogPack {
 public:
  /// Reads a recipe and the checkpoint that it names.
  ///
  /// @param recipe  path of the JSON; "-" is standard input, whose folder is the current one
  /// @error io, format, shape, unsupported, limit   a mistake in the recipe; the message names its JSON path
  /// @error arg     an override that names no encoding or matches no tensor
  /// @source        mog-pack(1), RECIPES
  static Result<MogPack> plan(const std::string& recipe, const MogPackOptions& options = {});

  const MogPackReport& report() const;
  /// Every file that was read, the recipe first: what the output must not replace.
  std::vector<std::string> inputs() const;

  /// Writes the file. The same recipe and sources give the same bytes.
  ///
  /// @param out     receives the file front to back; the caller commits it
  /// @error format  NaN or infinity among the weights; names tensor, row and column
  /// @error limit   a value or a scale overflows its type
  /// @error io, nomem
  /// @cost          memory: a few rows for each thread and the scales of one tensor
  Result<void> write(OutputFile& out) const;

  struct Impl;

 private:
  explicit MogPack(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace ml
