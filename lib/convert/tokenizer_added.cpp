#include "convert/tokenizer_vocab.hpp"
#include "tokenizer/added_tokens.hpp"
#include "util/json.hpp"
#include "util/try.hpp"

namespace ml {

Result<void> check_normalized_added(const std::vector<AddedEntry>& added, bool has_normalizer,
                                    ConversionLog& log) {
  AddedTokens as_is, normalized;
  std::vector<std::string_view> contents;
  for (const AddedEntry& entry : added) {
    (entry.normalized ? normalized : as_is).insert(entry.content, entry.id);
    contents.push_back(entry.content);
  }
  const std::vector<bool> meets_as_is = as_is.may_overlap(contents);
  const std::vector<bool> meets_normalized = normalized.may_overlap(contents);
  for (std::size_t i = 0; i < added.size(); ++i) {
    const AddedEntry& entry = added[i];
    if (entry.normalized && has_normalizer) {
      ML_CHECK(log.lossy(
          entry.path + ".normalized",
          fmt::format("is true for {}, .mlt matches it before the normalizer", show_json(entry.content))));
      continue;
    }
    const bool meets_others = (entry.normalized ? meets_as_is : meets_normalized)[i];
    if (!has_normalizer && meets_others) {
      ML_CHECK(
          log.lossy(entry.path + ".normalized",
                    fmt::format("{} overlaps an added token whose flag differs, .mlt matches all at once",
                                show_json(entry.content))));
    }
  }
  return {};
}

}  // namespace ml
