#include "convert/tokenizer_vocab.hpp"
#include "util/json.hpp"
#include "util/text_hash.hpp"
#include "util/try.hpp"
#include "util/utf8.hpp"

#include <array>
#include <unordered_map>

namespace ml {

namespace {

using nlohmann::json;

constexpr auto refusal = ConversionLog::refusal;

std::string vocab_path(std::string_view text) { return fmt::format("model.vocab[{}]", show_json(text)); }

// The alphabet of byte-level tokens: printable Latin-1 characters stand for their own bytes, the other bytes
// are U+0100 and up in order.
constexpr int kNoByte = -1;

std::array<int, 0x144> make_alphabet() {
  std::array<int, 0x144> byte_of;
  byte_of.fill(kNoByte);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool own = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    byte_of[static_cast<std::size_t>(own ? byte : next++)] = byte;
  }
  return byte_of;
}

// The byte of "<0xXX>".
std::optional<char> fallback_byte(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const std::size_t high = kDigits.find(text[3]), low = kDigits.find(text[4]);
  if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

struct Token {
  TokenAttr attr = TokenAttr::normal;
  std::string bytes;
};

Result<Token> byte_level_token(std::string_view text, const TokenizerPipeline& pipeline, ConversionLog& log) {
  if (auto bytes = byte_level_bytes(text)) return Token{TokenAttr::normal, std::move(*bytes)};
  // Text with other characters is never made of bytes: BPE cannot reach it, decoding writes it as it is.
  if (text.size() == 1)
    return refusal(vocab_path(text), "is not of the byte alphabet, but reads as a byte in a .mlt");
  if (pipeline.flags & kMltIgnoreMerges) {
    ML_CHECK(
        log.lossy(vocab_path(text), "is not of the byte alphabet, a .mlt could find it as a whole piece"));
  }
  return Token{TokenAttr::normal, std::string(text)};
}

Result<void> check_all_bytes(const TokenizerVocab& vocab, const TokenizerPipeline& pipeline,
                             ConversionLog& log) {
  std::array<bool, 256> seen = {};
  for (std::uint32_t id = 0; id < vocab.n_ids(); ++id) {
    const std::string_view text = vocab.model_text(id);
    if (pipeline.kind == TokenizerKind::sentencepiece) {
      if (const auto byte = fallback_byte(text)) seen[static_cast<unsigned char>(*byte)] = true;
    } else if (text.size() <= 2 && !text.empty()) {
      const auto bytes = byte_level_bytes(text);
      if (bytes && bytes->size() == 1) seen[static_cast<unsigned char>(bytes->front())] = true;
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (seen[byte]) continue;
    if (pipeline.kind == TokenizerKind::sentencepiece) {
      return refusal("model.vocab",
                     fmt::format("lacks the byte token <0x{:02X}>: its characters would need an unk token, "
                                 "which .mlt does not have",
                                 byte));
    }
    if (pipeline.has_unk) {
      return log.lossy("model.unk_token",
                       fmt::format("is reachable, the vocabulary lacks byte {:#04x}: .mlt has no unk "
                                   "token and drops the byte",
                                   byte));
    }
  }
  return {};
}

// One id has one string of bytes in a .mlt. @return false where the token must stay a token of the model only
Result<bool> check_added(const AddedEntry& entry, TokenizerKind kind, ConversionLog& log) {
  const std::string path = entry.path + ".content";
  const std::string content = show_json(entry.content);
  if (kind == TokenizerKind::sentencepiece) {
    if (entry.in_vocab && fallback_byte(entry.content))
      return refusal(path, fmt::format("{} is a byte token", content));
    return true;
  }
  const auto bytes = byte_level_bytes(entry.content);
  if (!bytes || *bytes == entry.content) return true;
  if (entry.in_vocab) {
    ML_CHECK(
        log.lossy(path, fmt::format("{} also spells other bytes in the model's alphabet, and .mlt stores one "
                                    "string for an id",
                                    content)));
    return false;
  }
  ML_CHECK(log.lossy(
      path, fmt::format("{} is decoded as other bytes, and .mlt stores one string for an id", content)));
  return true;
}

}  // namespace

std::optional<std::string> byte_level_bytes(std::string_view text) {
  static const std::array<int, 0x144> kByteOf = make_alphabet();
  std::string bytes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char32_t cp = next_char(at);
    if (cp >= kByteOf.size() || kByteOf[cp] == kNoByte) return std::nullopt;
    bytes += static_cast<char>(kByteOf[cp]);
  }
  return bytes;
}

Result<MltTokens> convert_tokens(const TokenizerVocab& vocab, const TokenizerPipeline& pipeline,
                                 ConversionLog& log) {
  ML_CHECK(check_all_bytes(vocab, pipeline, log));
  std::vector<const AddedEntry*> added(vocab.n_ids());
  for (const AddedEntry& entry : vocab.added()) {
    ML_TRY(const bool literal, check_added(entry, pipeline.kind, log));
    if (literal) added[entry.id] = &entry;
  }
  MltTokens tokens;
  std::array<std::uint32_t, 256> ids_of_bytes;
  ids_of_bytes.fill(TokenizerVocab::kHole);
  for (std::uint32_t id = 0; id < vocab.n_ids(); ++id) {
    const std::string_view text = vocab.model_text(id);
    if (added[id] != nullptr) {
      tokens.push_back(TokenAttr::added, added[id]->content);
    } else if (pipeline.kind == TokenizerKind::byte_level) {
      ML_TRY(const Token token, byte_level_token(text, pipeline, log));
      tokens.push_back(token.attr, token.bytes);
    } else if (const auto byte = fallback_byte(text)) {
      std::uint32_t& first = ids_of_bytes[static_cast<unsigned char>(*byte)];
      if (first != TokenizerVocab::kHole) {
        return refusal(vocab_path(text), fmt::format("is the text of ids {} and {}, but a .mlt has one token "
                                                     "for a byte",
                                                     first, id));
      }
      first = id;
      tokens.push_back(TokenAttr::byte, {&*byte, 1});
    } else {
      tokens.push_back(TokenAttr::normal, text);
    }
  }
  return tokens;
}

Result<std::vector<MltMerge>> convert_merges(const TokenizerJson& source, const TokenizerVocab& vocab,
                                             const MltTokens& tokens, TokenizerKind kind,
                                             ConversionLog& log) {
  std::vector<MltMerge> rows;
  // Of a pair that is listed twice the last rank counts.
  std::unordered_map<std::uint64_t, std::size_t, NumberHash> last;
  rows.reserve(source.merges.size());
  last.reserve(source.merges.size());
  const auto pair_of = [](const MltMerge& merge) { return std::uint64_t(merge.left) << 32 | merge.right; };
  for (std::size_t i = 0; i < source.merges.size(); ++i) {
    const auto& [left, right] = source.merges[i];
    MltMerge merge;
    const auto look_up = [&](const std::string& text, std::uint32_t& id) {
      const auto found = vocab.find_model(text);
      if (found) id = *found;
      return found.has_value();
    };
    for (const auto& [text, id] :
         {std::pair(left, &merge.left), {right, &merge.right}, {left + right, &merge.merged}}) {
      if (look_up(text, *id)) continue;
      return ConversionLog::malformed(fmt::format("model.merges[{}]", i),
                                      fmt::format("{} is not in model.vocab", show_json(text)));
    }
    last[pair_of(merge)] = i;
    rows.push_back(merge);
  }

  std::vector<MltMerge> merges;
  merges.reserve(rows.size());
  std::size_t n_unreachable = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MltMerge merge = rows[i];
    if (last[pair_of(merge)] != i) continue;
    const std::string_view left = tokens.bytes(merge.left), right = tokens.bytes(merge.right);
    const bool joined =
        !left.empty() && !right.empty() && tokens.bytes(merge.merged) == std::string(left).append(right);
    if (joined) {
      merges.push_back(merge);
    } else if (kind == TokenizerKind::sentencepiece && !left.empty() && !right.empty()) {
      return refusal(fmt::format("model.merges[{}]", i), "merges a byte token");
    } else {
      ++n_unreachable;
    }
  }
  if (n_unreachable > 0)
    log.note(fmt::format("model.merges: {} rules that no text can reach are left out", n_unreachable));
  return merges;
}

}  // namespace ml
