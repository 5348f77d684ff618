#pragma once

#include "ml_eval/options.hpp"

#include <ml/tokenizer.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ml_eval {

/// Turns "\n", "\t" and "\\" into a newline, a tab and a backslash.
///
/// @return false for another backslash, which kEscapes says
bool unescape(std::string& text);
inline constexpr std::string_view kEscapes = "a backslash must be followed by n, t or a backslash";

/// The tokens of one text. Where windows begin with BOS it is the first.
struct Text {
  std::string name;
  std::vector<std::uint32_t> tokens;
};

/// All texts, and how they are cut.
struct Plan {
  std::vector<Text> texts;
  std::optional<std::uint32_t> bos;  ///< stands in for the first token of each window
  std::uint32_t ctx = 0;
  std::uint32_t stride = 0;
  std::uint64_t windows = 0;
  std::uint64_t shard_index = 0;
  std::uint64_t n_shards = 1;

  ml::EvaluationWindows windows_of(const Text& text) const { return {text.tokens.size(), ctx, stride}; }
  /// How many of a text's windows are read.
  std::uint64_t n_windows(const Text& text) const;
  /// Their tokens that are scored, over all texts.
  std::uint64_t n_scored() const;
  /// Their tokens that are read.
  std::uint64_t n_inputs() const;
  /// The first eight bytes of XXH3-128 over the numbers that say what is scored.
  std::uint64_t hash() const { return hash_of(shard_index, n_shards); }
  /// The same of all shards together.
  std::uint64_t hash_of_all() const { return hash_of(0, 1); }

  /// Calls take(text, window) for each window of this shard, in order, until it returns false.
  template <class Take>
  void for_each_window(Take&& take) const {
    std::uint64_t n = 0;  // over all texts
    for (const Text& text : texts) {
      const ml::EvaluationWindows cut = windows_of(text);
      for (std::uint64_t i = 0; i < n_windows(text); ++i, ++n) {
        if (n % n_shards == shard_index && !take(text, cut[i])) return;
      }
    }
  }

 private:
  std::uint64_t hash_of(std::uint64_t index, std::uint64_t n) const;
};

/// Reads and encodes the texts. What cannot be used was reported.
Plan read_texts(cli::Tool& tool, const Options& options, const ml::Tokenizer& tokenizer, std::uint32_t vocab,
                std::uint32_t max_seq);

}  // namespace ml_eval
