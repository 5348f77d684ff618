#pragma once

#include <ml/tokenizer.hpp>

#include "formats/mlt.hpp"
#include "formats/mog_tokenizer.hpp"
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/char_table.hpp"
#include "tokenizer/long_piece_cache.hpp"
#include "tokenizer/piece_cache.hpp"
#include "tokenizer/piece_table.hpp"
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/word_cuts.hpp"
#include "util/space_mark.hpp"
#include "util/text_hash.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <optional>

namespace ml {

inline constexpr std::uint32_t kNoToken = UINT32_MAX;

/// Appends `text` with a space for each U+2581.
void append_spaced(std::string& out, std::string_view text);

/// What one encode() call works with. Calls take one from the tokenizer and give it back, warm.
struct EncodeScratch {
  PieceCache cache;
  LongPieceCache long_cache;
  BpeMerger merger;
  std::vector<std::uint32_t> symbols;
  std::vector<MergeTable::Rule> rules;  // of each symbol with the next
  std::string text;                     // normalized
  std::uint64_t n_bytes = 0;            // of all texts so far
};

class ScratchPool {
 public:
  std::unique_ptr<EncodeScratch> take() const;
  void give_back(std::unique_ptr<EncodeScratch> scratch) const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<EncodeScratch>> free_;
};

/// A tokenizer's contents and what encoding looks up in them. One that lies in a .mog is searched where it
/// is: then there are no tables of the vocabulary or the merges.
struct TokenizerImpl {
  explicit TokenizerImpl(MltContents source);
  /// @param storage  keeps the section that `source` lies in
  TokenizerImpl(MogTokens source, std::shared_ptr<const void> storage);

  /// @return the token of one character, as BPE begins with it, or kNoToken. Kind 1
  std::uint32_t char_token(char32_t cp) const;
  /// @return the id of a whole piece where the flag ignore_merges looks for one, or kNoToken
  std::uint32_t whole_piece(std::string_view piece) const;
  /// @return the rule of the tokens of two bytes. Kind 2
  MergeTable::Rule byte_rule(unsigned left, unsigned right) const {
    if (byte_rules.empty()) [[unlikely]]
      return merges.find(byte_tokens[left], byte_tokens[right]);
    return byte_rules[std::size_t(left) << 8 | right];
  }
  std::uint32_t n_merges() const {
    return mapped ? mapped->n_merges() : static_cast<std::uint32_t>(contents.merges.size());
  }

  std::shared_ptr<const void> storage;
  std::optional<MogTokens> mapped;
  MltContents contents;
  AddedTokens added;
  MergeTable merges;
  ScratchPool scratches;

  // The symbols that BPE begins with.
  std::array<std::uint32_t, 256> byte_tokens;  // kind 1: the fallback; kind 2: all there is
  CharTable char_tokens;                       // kind 1

  std::vector<MergeTable::Rule> byte_rules;  // kind 2: of the tokens of bytes l and r at 256 l + r
  PieceTable whole_pieces;                   // ignore_merges: the tokens with attr 0
  PreTokenizer pre_tokenizer;                // kind 2
  std::size_t longest_token = 0;
  WordCuts word_cuts;  // kind 1

  /// Kind 1: the tokens with spaces for U+2581, made when the first text is decoded.
  const MltTokens& spelled_tokens() const;

 private:
  mutable std::once_flag spelled_once_;
  mutable MltTokens spelled_;

  void index_symbols();
  void find_symbols();
  void find_cuts();

  // What a mapped tokenizer looks texts up for.
  enum class Use : std::uint8_t { symbol, whole_piece };
  bool serves(std::uint32_t id, Use use) const;
  std::uint32_t last_of(MogTokens::Equals equals, Use use) const;
  std::uint32_t find_mapped(std::string_view text, Use use) const;

  std::vector<std::uint32_t> added_in_rules_;                  // of a mapped tokenizer: sorted
  std::vector<std::array<std::uint32_t, 2>> ids_of_repeated_;  // by Use, beside MogTokens::repeated()
  void index_cuts();
  void index_byte_rules();
};

}  // namespace ml
