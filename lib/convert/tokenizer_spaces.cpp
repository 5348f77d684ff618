#include "convert/tokenizer_pipeline.hpp"
#include "util/json.hpp"
#include "util/space_mark.hpp"
#include "util/try.hpp"

namespace ml {

namespace {

using nlohmann::json;

constexpr auto refusal = ConversionLog::refusal;
bool is_prepend(const PipelineStep& step) {
  return step.type == "Prepend" && json_member(*step.value, "prepend") == kSpaceMark;
}

bool is_space_replace(const PipelineStep& step) {
  return step.type == "Replace" && json_member(json_member(*step.value, "pattern"), "String") == " " &&
         json_member(*step.value, "content") == kSpaceMark;
}

// Gemma's: a Split at spaces, of which none are left by then.
bool never_splits(const PipelineStep& step) {
  return step.type == "Split" && json_member(json_member(*step.value, "pattern"), "String") == " ";
}

Result<std::uint32_t> read_metaspace(const PipelineStep& step, ConversionLog& log) {
  const json& value = *step.value;
  if (json_member(value, "replacement") != kSpaceMark)
    return refusal(step.path + ".replacement", "is not U+2581");
  if (json_member(value, "split") != false)
    return refusal(step.path + ".split", "is not false, .mlt does not split at spaces");
  const json& scheme = json_member(value, "prepend_scheme");
  if (scheme == "first") return kMltPrefixFirst;
  if (scheme == "never") {
    ML_CHECK(log.extension(step.path + ".prepend_scheme", kMltNoPrefix));
    return kMltNoPrefix;
  }
  ML_CHECK(log.lossy(step.path + ".prepend_scheme",
                     fmt::format("is {}: text that begins with a space would get one prefix more in a .mlt",
                                 show_json(scheme))));
  return std::uint32_t(0);
}

}  // namespace

Result<std::uint32_t> read_space_rule(const std::vector<PipelineStep>& normalizer,
                                      const std::vector<PipelineStep>& pre_tokenizer, ConversionLog& log) {
  if (normalizer.empty()) {
    if (pre_tokenizer.size() == 1 && pre_tokenizer[0].type == "Metaspace")
      return read_metaspace(pre_tokenizer[0], log);
    if (pre_tokenizer.empty())
      return refusal("normalizer", "is null without a Metaspace pre-tokenizer: nothing replaces spaces");
    return refusal(pre_tokenizer[0].path + ".type",
                   fmt::format("is \"{}\", which .mlt does not have for SentencePiece-style text",
                               pre_tokenizer[0].type));
  }
  const bool prefix = normalizer.size() == 2 && is_prepend(normalizer[0]) && is_space_replace(normalizer[1]);
  const bool no_prefix = normalizer.size() == 1 && is_space_replace(normalizer[0]);
  if (!prefix && !no_prefix) {
    const bool expected_first = is_prepend(normalizer[0]) || is_space_replace(normalizer[0]);
    const PipelineStep& odd = normalizer[expected_first && normalizer.size() > 1 ? 1 : 0];
    return refusal(
        odd.path,
        fmt::format("\"{}\" is not a part of what .mlt has: Prepend U+2581, Replace space by U+2581",
                    odd.type));
  }
  const bool idle_split = pre_tokenizer.size() == 1 && never_splits(pre_tokenizer[0]);
  if (!pre_tokenizer.empty() && !idle_split) {
    return refusal(
        pre_tokenizer[0].path + ".type",
        fmt::format("is \"{}\", which .mlt does not have behind this normalizer", pre_tokenizer[0].type));
  }
  if (prefix) return std::uint32_t(0);
  ML_CHECK(log.extension("normalizer", kMltNoPrefix));
  return kMltNoPrefix;
}

}  // namespace ml
