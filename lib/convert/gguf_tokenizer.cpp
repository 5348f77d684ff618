#include "convert/gguf_tokenizer.hpp"

#include "convert/gguf_arch.hpp"
#include "convert/tokenizer_vocab.hpp"
#include "util/bytes.hpp"
#include "util/space_mark.hpp"
#include "util/text_hash.hpp"
#include "util/try.hpp"
#include "util/utf8.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ml {

namespace {

using nlohmann::json;

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kPre = "tokenizer.ggml.pre";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kAddBos = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEos = "tokenizer.ggml.add_eos_token";
constexpr std::string_view kAddPrefix = "tokenizer.ggml.add_space_prefix";
constexpr std::string_view kBos = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kEos = "tokenizer.ggml.eos_token_id";
// Values of tokenizer.ggml.token_type.
enum class TokenType : std::uint64_t { normal = 1, unknown, control, user_defined, unused, byte };

// A pre-tokenizer by its name in tokenizer.ggml.pre, as the published tokenizers of that name are.
struct PreRow {
  std::string_view name;
  std::uint32_t flags;
  bool add_bos = false;  ///< where tokenizer.ggml.add_bos_token does not say
};
constexpr std::uint32_t kGpt2Digits = kMltGpt2 | kMltSplitDigits;
constexpr std::array kPreTokenizers{
    PreRow{"llama-bpe", kMltIgnoreMerges, true},
    PreRow{"llama3", kMltIgnoreMerges, true},
    PreRow{"llama-v3", kMltIgnoreMerges, true},
    PreRow{"qwen2", kMltNfc | kMltSingleDigits},
    PreRow{"deepseek-r1-qwen", kMltSingleDigits},
    PreRow{"qwen35", kMltNfc | kMltSingleDigits | kMltMarks},
    PreRow{"gpt-2", kMltGpt2},
    PreRow{"phi-2", kMltGpt2},
    PreRow{"smollm", kGpt2Digits},
    PreRow{"starcoder", kGpt2Digits},
    PreRow{"refact", kGpt2Digits},
    PreRow{"command-r", kMltNfc | kGpt2Digits},
    PreRow{"gpt-4o", kMltO200k},
    PreRow{"deepseek-v3", kMltDeepSeek},
};

// Merging costs the square of a token's length.
constexpr std::size_t kMaxTokenBytes = 512;

constexpr std::array<std::string_view, 7> kEndTexts{
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>"};

Error wrong(const GgufFile& file, std::string_view key, std::string_view rule,
            Status status = Status::format) {
  const GgufValue* value = file.find(key);
  Error error{.status = status,
              .message = fmt::format("{} is {}, must be {}", key,
                                     value == nullptr ? "missing" : show_gguf_value(*value), rule)};
  if (value != nullptr) error.offset = value->offset;
  return error;
}

Result<std::vector<std::string_view>> read_texts(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.find(key);
  auto texts = value == nullptr ? std::nullopt : value->texts();
  if (!texts) return wrong(file, key, "an array of strings");
  for (std::size_t i = 0; i < texts->size(); ++i) {
    if (!find_invalid_utf8_byte((*texts)[i])) continue;
    return Error{.status = Status::format,
                 .message = fmt::format("element {} of {} is not UTF-8", i, key),
                 .offset = value->offset};
  }
  return *std::move(texts);
}

// An array with an element for each token.
Result<const GgufValue*> find_list(const GgufFile& file, std::string_view key, std::size_t n,
                                   std::string_view rule) {
  const GgufValue* value = file.find(key);
  if (value == nullptr || !value->is_list()) return wrong(file, key, rule);
  if (value->n != n) return wrong(file, key, fmt::format("an array of {} elements", n));
  return value;
}

Result<std::vector<TokenType>> read_types(const GgufFile& file, std::size_t n) {
  std::vector<TokenType> types(n, TokenType::normal);
  if (file.find(kTypes) == nullptr) return types;
  constexpr std::string_view kRule = "an array of numbers from 1 to 6";
  ML_TRY(const GgufValue* list, find_list(file, kTypes, n, kRule));
  for (std::size_t i = 0; i < n; ++i) {
    const auto type = list->at(i).count();
    if (!type || *type > 6) return wrong(file, kTypes, kRule);
    if (*type != 0) types[i] = static_cast<TokenType>(*type);
  }
  return types;
}

Result<std::vector<float>> read_scores(const GgufFile& file, std::size_t n) {
  constexpr std::string_view kRule = "an array of f32 without a NaN";
  ML_TRY(const GgufValue* list, find_list(file, kScores, n, kRule));
  if (list->element != GgufType::f32) return wrong(file, kScores, kRule);
  std::vector<float> scores;
  scores.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    scores.push_back(load_le<float>(list->at(i).bytes.data()));
    if (std::isnan(scores.back())) return wrong(file, kScores, kRule);
  }
  return scores;
}

Result<bool> read_flag(const GgufFile& file, std::string_view key, bool missing) {
  const GgufValue* value = file.find(key);
  if (value == nullptr) return missing;
  const auto flag = value->flag();
  if (!flag) return wrong(file, key, "a bool");
  return *flag;
}

// A token's id; -1 where the key is absent (or says so with a number that no id can be).
Result<std::int32_t> read_id(const GgufFile& file, std::string_view key, std::int32_t missing,
                             std::size_t n_tokens) {
  const GgufValue* value = file.find(key);
  if (value == nullptr) return missing;
  const auto id = value->count();
  if (id && *id == UINT32_MAX) return -1;
  if (!id || *id >= n_tokens) return wrong(file, key, fmt::format("an id below {}", n_tokens));
  return static_cast<std::int32_t>(*id);
}

bool is_added(TokenType type) {
  return type == TokenType::unknown || type == TokenType::control || type == TokenType::user_defined;
}

// Ranked rules that merge as the scores do: every way to cut a token in two that are tokens, the best score
// first, then the longest left part. (Rules of one score have an order that scores leave to the place in the
// text; the tokenizers library does the same.)
class MergeMaker {
 public:
  MergeMaker(const std::vector<TokenizerJson::VocabEntry>& vocab, const std::vector<TokenType>& types,
             const std::vector<float>& scores)
      : vocab_(vocab), scores_(scores) {
    for (const auto& entry : vocab) {
      const TokenType type = types[entry.id];
      if (type == TokenType::normal || type == TokenType::user_defined || type == TokenType::unused)
        ids_.insert_or_assign(entry.text, entry.id);
    }
  }

  /// @error limit  more rules than kRulesPerToken for each token
  Result<std::vector<TokenizerJson::MergeRow>> make() {
    for (const auto& entry : vocab_) {
      const auto found = ids_.find(entry.text);
      if (found != ids_.end() && found->second == entry.id) cut(entry);
      if (rules_.size() <= kRulesPerToken * vocab_.size()) continue;
      return Error{.status = Status::limit,
                   .message = fmt::format("the tokens of {} can be cut into two others in over {} ways each",
                                          kTokens, kRulesPerToken)};
    }
    std::stable_sort(rules_.begin(), rules_.end(), [](const Rule& a, const Rule& b) {
      if (a.score != b.score) return a.score > b.score;
      if (a.left_chars != b.left_chars) return a.left_chars > b.left_chars;
      return a.right_chars > b.right_chars;
    });
    std::vector<TokenizerJson::MergeRow> rows;
    rows.reserve(rules_.size());
    for (const Rule& rule : rules_) {
      rows.push_back({std::string(rule.text.substr(0, rule.cut)), std::string(rule.text.substr(rule.cut))});
    }
    return rows;
  }

 private:
  static constexpr std::size_t kRulesPerToken = 16;  // trained vocabularies have two or three

  struct Rule {
    std::string_view text;
    std::size_t cut;
    float score;
    std::uint32_t left_chars;
    std::uint32_t right_chars;
  };

  void cut(const TokenizerJson::VocabEntry& entry) {
    const std::string_view text = entry.text;
    const auto starts = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80; };
    std::uint32_t n_chars = 0;
    for (std::size_t at = 0; at < text.size(); ++at) n_chars += starts(at) ? 1 : 0;
    std::uint32_t left = 1;
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (!starts(at)) continue;
      if (ids_.contains(text.substr(0, at)) && ids_.contains(text.substr(at)))
        rules_.push_back({text, at, scores_[entry.id], left, n_chars - left});
      ++left;
    }
  }

  const std::vector<TokenizerJson::VocabEntry>& vocab_;
  const std::vector<float>& scores_;
  TextMap<std::uint32_t> ids_;
  std::vector<Rule> rules_;
};

// A SentencePiece file writes U+2581 for a space, but not in tokens that its user added.
std::string with_space_marks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ') {
      out += kSpaceMark;
    } else {
      out += c;
    }
  }
  return out;
}

Result<void> read_merges(const GgufFile& file, TokenizerJson& source) {
  ML_TRY(const std::vector<std::string_view> merges, read_texts(file, kMerges));
  source.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::size_t space = merges[i].find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merges[i].size()) {
      return Error{.status = Status::format,
                   .message = fmt::format("element {} of {} must hold two tokens and one space", i, kMerges)};
    }
    source.merges.push_back(
        {std::string(merges[i].substr(0, space)), std::string(merges[i].substr(space + 1))});
  }
  return {};
}

Result<TokenizerPipeline> read_pipeline(const GgufFile& file, ConversionLog& log, bool& add_bos) {
  TokenizerPipeline pipeline;
  const GgufValue* model = file.find(kModel);
  const auto name = model == nullptr ? std::nullopt : model->text();
  if (!name) return wrong(file, kModel, "llama or gpt2");
  if (*name == "llama") {
    pipeline.kind = TokenizerKind::sentencepiece;
    add_bos = true;
    ML_TRY(const bool prefix, read_flag(file, kAddPrefix, true));
    if (!prefix) {
      ML_CHECK(log.extension(kAddPrefix, kMltNoPrefix));
      pipeline.flags = kMltNoPrefix;
    }
    return pipeline;
  }
  if (*name != "gpt2") return wrong(file, kModel, "llama or gpt2", Status::unsupported);
  const GgufValue* pre = file.find(kPre);
  const auto pre_name = pre == nullptr ? std::nullopt : pre->text();
  const auto row = std::find_if(kPreTokenizers.begin(), kPreTokenizers.end(),
                                [&](const PreRow& candidate) { return pre_name == candidate.name; });
  if (row == kPreTokenizers.end()) {
    std::vector<std::string_view> known;
    for (const PreRow& candidate : kPreTokenizers) known.push_back(candidate.name);
    return wrong(file, kPre, fmt::format("one of {}", fmt::join(known, ", ")), Status::unsupported);
  }
  if (const std::uint32_t extension = row->flags & kMltExtensions) ML_CHECK(log.extension(kPre, extension));
  pipeline.flags = row->flags;
  add_bos = row->add_bos;
  return pipeline;
}

// The parts of a conversion speak of a tokenizer.json; a GGUF file has other names for them.
Error renamed(Error error) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNames{
      {{"model.vocab", kTokens}, {"model.merges", kMerges}, {"added_tokens", kTypes}}};
  for (const auto& [json_name, name] : kNames) {
    if (error.message.starts_with(json_name)) error.message.replace(0, json_name.size(), name);
  }
  return error;
}

Result<MltContents> convert_parts(const GgufFile& file, ConversionLog& log) {
  bool add_bos = false;
  ML_TRY(TokenizerPipeline pipeline, read_pipeline(file, log, add_bos));
  const bool scored = pipeline.kind == TokenizerKind::sentencepiece;
  ML_TRY(const std::vector<std::string_view> texts, read_texts(file, kTokens));
  ML_TRY(const std::vector<TokenType> types, read_types(file, texts.size()));
  if (texts.empty()) return wrong(file, kTokens, "an array of at least one string");
  if (texts.size() > kMltMaxVocab)
    return wrong(file, kTokens, fmt::format("at most {} strings", kMltMaxVocab), Status::limit);

  TokenizerJson source;
  source.has_vocab = source.has_merges = true;
  source.ids_share_texts = true;
  json added = json::array();
  for (std::uint32_t id = 0; id < texts.size(); ++id) {
    if (texts[id].size() > kMaxTokenBytes && scored) {
      return Error{.status = Status::limit,
                   .message = fmt::format("element {} of {} has {} bytes, may have {} at most", id, kTokens,
                                          texts[id].size(), kMaxTokenBytes)};
    }
    if (texts[id].empty() || (!scored && types[id] == TokenType::unused)) continue;  // a hole
    source.vocab.push_back({scored ? with_space_marks(texts[id]) : std::string(texts[id]), id});
    if (is_added(types[id])) added.push_back({{"id", id}, {"content", source.vocab.back().text}});
  }
  source.document = {{"added_tokens", std::move(added)}};
  if (scored) {
    ML_TRY(const std::vector<float> scores, read_scores(file, texts.size()));
    ML_TRY(source.merges, MergeMaker(source.vocab, types, scores).make());
  } else {
    ML_CHECK(read_merges(file, source));
  }

  ML_TRY(const TokenizerVocab vocab, TokenizerVocab::read(source, pipeline, log));
  MltContents contents;
  contents.kind = pipeline.kind;
  contents.flags = pipeline.flags;
  ML_TRY(contents.tokens, convert_tokens(vocab, pipeline, log));
  ML_TRY(contents.merges, convert_merges(source, vocab, contents.tokens, pipeline.kind, log));
  const std::size_t n = contents.tokens.size();
  ML_TRY(contents.bos, read_id(file, kBos, scored ? 1 : -1, n));
  ML_TRY(contents.eos, read_id(file, kEos, scored ? 2 : -1, n));
  ML_TRY(add_bos, read_flag(file, kAddBos, add_bos));
  if (add_bos && contents.bos < 0) return wrong(file, kBos, "there, as every text begins with it");
  if (add_bos) contents.flags |= kMltBos;
  ML_TRY(const bool add_eos, read_flag(file, kAddEos, false));
  if (add_eos) return wrong(file, kAddEos, "false: a .mlt puts nothing behind a text", Status::unsupported);
  return contents;
}

}  // namespace

bool has_gguf_tokenizer(const GgufFile& file) {
  return file.find(kModel) != nullptr && file.find(kTokens) != nullptr;
}

Result<MltContents> convert_gguf_tokenizer(const GgufFile& file, ConversionLog& log) {
  auto contents = convert_parts(file, log);
  if (!contents) return renamed(std::move(contents.error()));
  return contents;
}

Result<std::vector<std::uint32_t>> gguf_end_tokens(const GgufFile& file) {
  std::vector<std::uint32_t> ids;
  if (!has_gguf_tokenizer(file)) return ids;
  ML_TRY(const std::vector<std::string_view> texts, read_texts(file, kTokens));
  for (const std::string_view key : {kEos, std::string_view("tokenizer.ggml.eot_token_id"),
                                     std::string_view("tokenizer.ggml.eom_token_id")}) {
    ML_TRY(const std::int32_t id, read_id(file, key, -1, texts.size()));
    if (id >= 0) ids.push_back(static_cast<std::uint32_t>(id));
  }
  const std::vector<std::uint32_t> from_keys = ids;
  for (std::uint32_t id = 0; id < texts.size(); ++id) {
    const bool ends = std::find(kEndTexts.begin(), kEndTexts.end(), texts[id]) != kEndTexts.end();
    if (ends && std::find(from_keys.begin(), from_keys.end(), id) == from_keys.end()) ids.push_back(id);
  }
  return ids;
}

std::map<std::string, std::string> gguf_special_tokens(const GgufFile& file) {
  std::map<std::string, std::string> tokens;
  const auto texts = read_texts(file, kTokens);
  if (!texts) return tokens;
  constexpr std::array<std::pair<const char*, const char*>, 4> kNames{{{"bos_token", "bos_token_id"},
                                                                       {"eos_token", "eos_token_id"},
                                                                       {"unk_token", "unknown_token_id"},
                                                                       {"pad_token", "padding_token_id"}}};
  for (const auto& [name, key] : kNames) {
    const GgufValue* value = file.find(fmt::format("tokenizer.ggml.{}", key));
    const auto id = value == nullptr ? std::nullopt : value->count();
    if (id && *id < texts->size()) tokens[name] = (*texts)[*id];
  }
  return tokens;
}

}  // namespace ml
