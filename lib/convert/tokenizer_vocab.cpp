#include "convert/tokenizer_vocab.hpp"

#include "util/json.hpp"
#include "util/try.hpp"

#include <algorithm>

namespace ml {

namespace {

using nlohmann::json;

constexpr auto refusal = ConversionLog::refusal;
constexpr auto malformed = ConversionLog::malformed;

// More holes than this beside the tokens are a mistake, and would make a large file from a small one.
constexpr std::uint64_t kMaxHoles = 65536;

std::string vocab_path(std::string_view text) { return fmt::format("model.vocab[{}]", show_json(text)); }

Result<bool> member_flag(const json& object, const char* name, const std::string& path) {
  const json& value = json_member(object, name);
  if (value.is_null()) return false;
  if (!value.is_boolean()) return malformed(fmt::format("{}.{}", path, name), "must be true or false");
  return value.get<bool>();
}

}  // namespace

Result<TokenizerVocab> TokenizerVocab::read(const TokenizerJson& source, const TokenizerPipeline& pipeline,
                                            ConversionLog& log) {
  TokenizerVocab vocab(source);
  ML_CHECK(vocab.index_model());
  ML_CHECK(vocab.read_added(log));
  ML_CHECK(check_normalized_added(vocab.added_, pipeline.has_normalizer, log));
  return vocab;
}

Result<void> TokenizerVocab::index_model() {
  const auto& entries = source_->vocab;
  ids_.reserve(entries.size());
  std::uint32_t n_ids = 0;
  for (const auto& entry : entries) {
    ids_.insert_or_assign(entry.text, entry.id);  // of equal texts the last one counts
    if (entry.id >= kMltMaxVocab) {
      return Error{Status::limit,
                   fmt::format("{} is {}, must be below {}", vocab_path(entry.text), entry.id, kMltMaxVocab)};
    }
    n_ids = std::max(n_ids, entry.id + 1);
  }
  const std::size_t n_tokens = source_->ids_share_texts ? entries.size() : ids_.size();
  if (n_ids > 2 * n_tokens + kMaxHoles) {
    return Error{Status::limit, fmt::format("model.vocab: {} tokens have ids up to {}", n_tokens, n_ids - 1)};
  }
  entry_of_id_.assign(n_ids, kHole);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!source_->ids_share_texts && ids_.at(entries[i].text) != entries[i].id) continue;
    std::uint32_t& slot = entry_of_id_[entries[i].id];
    if (slot != kHole && entries[slot].text != entries[i].text) {
      return malformed(vocab_path(entries[i].text),
                       fmt::format("has the id {} of {}", entries[i].id, show_json(entries[slot].text)));
    }
    slot = static_cast<std::uint32_t>(i);
  }
  return {};
}

Result<void> TokenizerVocab::read_added(ConversionLog& log) {
  const json& list = json_member(source_->document, "added_tokens");
  if (list.is_null()) return {};
  if (!list.is_array()) return malformed("added_tokens", "must be an array");
  for (std::size_t i = 0; i < list.size(); ++i) {
    AddedEntry entry;
    entry.path = fmt::format("added_tokens[{}]", i);
    const json& content = json_member(list[i], "content");
    const json& id = json_member(list[i], "id");
    if (!content.is_string()) return malformed(entry.path + ".content", "must be a string");
    if (!id.is_number_unsigned()) return malformed(entry.path + ".id", "must be an id");
    entry.content = content.get<std::string>();
    if (entry.content.empty()) continue;
    for (const char* name : {"single_word", "lstrip", "rstrip"}) {
      ML_TRY(const bool set, member_flag(list[i], name, entry.path));
      if (set) {
        ML_CHECK(log.lossy(fmt::format("{}.{}", entry.path, name),
                           fmt::format("is true for {}, .mlt has no such rule", show_json(content))));
      }
    }
    ML_TRY(entry.normalized, member_flag(list[i], "normalized", entry.path));
    const std::uint64_t file_id = id.get<std::uint64_t>();
    ML_CHECK(add(std::move(entry), static_cast<std::uint32_t>(std::min<std::uint64_t>(file_id, UINT32_MAX))));
  }
  return {};
}

// The library takes no notice of the id in the file: a content that the model knows keeps the model's id, any
// other gets the next one, counted from the number of the model's tokens or from the highest added id.
Result<void> TokenizerVocab::add(AddedEntry entry, std::uint32_t file_id) {
  if (source_->ids_share_texts) {
    add_with_own_id(std::move(entry), file_id);
    return {};
  }
  const auto known = added_index_.find(entry.content);
  const auto in_model = find_model(entry.content);
  if (known != added_index_.end()) {
    entry.id = added_[known->second].id;
  } else if (in_model) {
    entry.id = *in_model;
  } else {
    entry.id = static_cast<std::uint32_t>(std::max<std::uint64_t>(ids_.size(), added_end_));
  }
  entry.in_vocab = in_model.has_value();
  if (entry.id != file_id) {
    return refusal(entry.path + ".id", fmt::format("is {}, but the tokenizers library gives {} the id {}",
                                                   file_id, show_json(entry.content), entry.id));
  }
  if (entry.id >= kMltMaxVocab) {
    return Error{Status::limit,
                 fmt::format("{}.id is {}, must be below {}", entry.path, entry.id, kMltMaxVocab)};
  }
  if (known != added_index_.end()) {
    added_[known->second].normalized = entry.normalized;
    return {};
  }
  if (!in_model && entry.id < entry_of_id_.size() && entry_of_id_[entry.id] != kHole) {
    return refusal(entry.path + ".id", fmt::format("is {}, which is also the id of {}", entry.id,
                                                   show_json(std::string(model_text(entry.id)))));
  }
  if (entry.id >= entry_of_id_.size()) entry_of_id_.resize(std::size_t(entry.id) + 1, kHole);
  added_index_.emplace(entry.content, static_cast<std::uint32_t>(added_.size()));
  added_end_ = std::max(added_end_, std::uint64_t(entry.id) + 1);
  added_.push_back(std::move(entry));
  return {};
}

// @param id  of the model's token with this content; others may have it too
void TokenizerVocab::add_with_own_id(AddedEntry entry, std::uint32_t id) {
  entry.id = id;
  entry.in_vocab = true;
  added_index_.insert_or_assign(entry.content, static_cast<std::uint32_t>(added_.size()));
  added_.push_back(std::move(entry));
}

std::optional<std::uint32_t> TokenizerVocab::find_model(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> TokenizerVocab::find(std::string_view text) const {
  const auto found = added_index_.find(text);
  return found == added_index_.end() ? find_model(text) : std::optional(added_[found->second].id);
}

std::string_view TokenizerVocab::model_text(std::uint32_t id) const {
  const std::uint32_t entry = entry_of_id_[id];
  return entry == kHole ? std::string_view() : std::string_view(source_->vocab[entry].text);
}

}  // namespace ml
