#include "convert/tokenizer_vocab.hpp"
#include "tokenizer/added_tokens.hpp"
#include "util/json.hpp"
#include "util/try.hpp"

namespace ml {

Result<void> check_normalized_added(const std::vector<AddedEntry>& added, bool has_normalizer,
                                    ConversionLog& log) {
  AddedTokens as_is, normalized;
  for (const AddedEntry& entry : added)
    (entry.normalized ? normalized : as_is).insert(entry.content, entry.id);
  for (const AddedEntry& entry : added) {
    if (entry.normalized && has_normalizer) {
      ML_CHECK(log.lossy(
          entry.path + ".normalized",
          fmt::format("is true for {}, .mlt matches it before the normalizer", show_json(entry.content))));
      continue;
    }
    const AddedTokens& others = entry.normalized ? as_is : normalized;
    if (!has_normalizer && others.may_overlap(entry.content)) {
      ML_CHECK(
          log.lossy(entry.path + ".normalized",
                    fmt::format("{} overlaps an added token whose flag differs, .mlt matches all at once",
                                show_json(entry.content))));
    }
  }
  return {};
}

}  // namespace ml
