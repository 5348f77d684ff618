#include "convert/tokenizer_pipeline.hpp"
#include "util/json.hpp"
#include "util/try.hpp"

#include <array>

namespace ml {

namespace {

using nlohmann::json;

constexpr auto refusal = ConversionLog::refusal;

// The patterns that .mlt can name. A pattern is known by its exact text: near copies cut differently.
struct PatternRow {
  std::string_view text;
  std::uint32_t flags;
};

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::array<PatternRow, 5> kPatterns = {{
    {kLlama3, 0},
    {kQwen2, kMltSingleDigits},
    {kGpt2, kMltGpt2},
    {kQwen35, kMltMarks | kMltSingleDigits},
    {kO200k, kMltO200k},
}};

// The three splits of DeepSeek-V3, in their order. The line ends in the last one are those characters
// themselves.
constexpr std::array<std::string_view, 3> kDeepSeek = {
    R"(\p{N}{1,3})",
    "[一-龥぀-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
};

// The regex of a Split that keeps all text: Isolated, or Removed with invert (every pattern here covers all
// text).
Result<std::string> split_regex(const PipelineStep& step) {
  const json& regex = json_member(json_member(*step.value, "pattern"), "Regex");
  if (!regex.is_string()) return refusal(step.path + ".pattern", "has no Regex, .mlt has no other pattern");
  const json& behavior = json_member(*step.value, "behavior");
  const json& invert = json_member(*step.value, "invert");
  const bool isolated = behavior == "Isolated" && (invert == false || invert.is_null());
  const bool kept = behavior == "Removed" && invert == true;
  if (!isolated && !kept) {
    return refusal(step.path + ".behavior", fmt::format("is {} with invert {}, .mlt has only \"Isolated\"",
                                                        show_json(behavior), show_json(invert)));
  }
  return regex.get<std::string>();
}

Result<std::uint32_t> single_split(const PipelineStep& step, ConversionLog& log) {
  ML_TRY(const std::string regex, split_regex(step));
  for (const PatternRow& row : kPatterns) {
    if (row.text != regex) continue;
    if (const std::uint32_t extension = row.flags & kMltExtensions) {
      ML_CHECK(log.extension(step.path + ".pattern.Regex", extension));
    }
    return row.flags;
  }
  return refusal(step.path + ".pattern.Regex", "is a pattern that .mlt does not have");
}

Result<std::uint32_t> deepseek_splits(std::span<const PipelineStep> splits, ConversionLog& log) {
  for (std::size_t i = 0; i < splits.size(); ++i) {
    ML_TRY(const std::string regex, split_regex(splits[i]));
    if (i >= kDeepSeek.size() || regex != kDeepSeek[i] ||
        json_member(*splits[i].value, "behavior") != "Isolated") {
      return refusal(splits[i].path + ".pattern.Regex", "is a pattern that .mlt does not have at this place");
    }
  }
  if (splits.size() != kDeepSeek.size()) {
    return refusal("pre_tokenizer",
                   fmt::format("has {} Splits, .mlt has one or DeepSeek's three", splits.size()));
  }
  ML_CHECK(log.extension("pre_tokenizer", kMltDeepSeek));
  return kMltDeepSeek;
}

}  // namespace

Result<std::uint32_t> read_byte_level_pattern(const std::vector<PipelineStep>& steps, ConversionLog& log) {
  std::span<const PipelineStep> rest(steps);
  std::uint32_t flags = 0;
  if (rest.front().type == "Digits") {
    const PipelineStep& digits = rest.front();
    if (json_member(*digits.value, "individual_digits") != true) {
      return refusal(digits.path + ".individual_digits", "is not true, .mlt cuts out single digits only");
    }
    flags |= kMltSplitDigits;
    rest = rest.subspan(1);
  }
  std::size_t n_splits = 0;
  while (n_splits < rest.size() && rest[n_splits].type == "Split") ++n_splits;
  const std::span<const PipelineStep> splits = rest.first(n_splits);
  rest = rest.subspan(n_splits);
  if (rest.empty() || rest.front().type != "ByteLevel" || rest.size() != 1) {
    const PipelineStep& odd = rest.empty() ? steps.back() : rest[rest.front().type == "ByteLevel" ? 1 : 0];
    return refusal(odd.path + ".type",
                   fmt::format("is \"{}\", which .mlt does not have at this place", odd.type));
  }

  const PipelineStep& byte_level = rest.front();
  if (json_member(*byte_level.value, "add_prefix_space") != false) {
    return refusal(byte_level.path + ".add_prefix_space", "is not false, a byte-level .mlt adds no space");
  }
  const json& use_regex = json_member(*byte_level.value, "use_regex");
  const bool own_regex = use_regex.is_null() || use_regex == true;
  if (own_regex != splits.empty()) {
    return refusal(byte_level.path + ".use_regex",
                   splits.empty() ? "is false and there is no Split" : "is not false behind a Split");
  }
  if (own_regex) return flags | kMltGpt2;
  if (splits.size() == 1) {
    ML_TRY(const std::uint32_t pattern, single_split(splits.front(), log));
    return flags | pattern;
  }
  if (flags != 0) return refusal(steps.front().path, "Digits before several Splits");
  return deepseek_splits(splits, log);
}

}  // namespace ml
