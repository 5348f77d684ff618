#include "convert/tokenizer_pipeline.hpp"
#include "formats/mlt.hpp"
#include "util/json.hpp"
#include "util/try.hpp"

namespace ml {

namespace {

using nlohmann::json;

constexpr auto refusal = ConversionLog::refusal;
constexpr auto malformed = ConversionLog::malformed;

bool is_text(const json& piece) { return json_member(json_member(piece, "Sequence"), "id") == "A"; }

// The id is the one written beside the template; nobody looks the string up.
Result<std::uint32_t> template_id(const PipelineStep& step, const std::string& name) {
  const std::string path = fmt::format("{}.special_tokens[{}].ids", step.path, show_json(name));
  const json& ids = json_member(json_member(json_member(*step.value, "special_tokens"), name), "ids");
  if (!ids.is_array() || ids.empty()) return malformed(path, "must be an array of ids");
  if (ids.size() != 1) return refusal(path, fmt::format("holds {} ids, .mlt prepends one", ids.size()));
  if (!ids[0].is_number_unsigned() || ids[0].get<std::uint64_t>() >= kMltMaxVocab)
    return malformed(path, "must hold an id");
  return ids[0].get<std::uint32_t>();
}

// single is [A] or [special, A].
Result<std::optional<std::uint32_t>> read_template(const PipelineStep& step) {
  const std::string path = step.path + ".single";
  const json& single = json_member(*step.value, "single");
  if (!single.is_array() || single.empty()) return malformed(path, "must be an array");
  if (single.size() == 1 && is_text(single[0])) return std::optional<std::uint32_t>();
  const json& name = json_member(json_member(single[0], "SpecialToken"), "id");
  if (single.size() != 2 || !name.is_string() || !is_text(single[1])) {
    return refusal(path, "is not the text alone or one special token and the text");
  }
  ML_TRY(const std::uint32_t id, template_id(step, name.get<std::string>()));
  return std::optional<std::uint32_t>(id);
}

}  // namespace

Result<std::optional<std::uint32_t>> read_post_processor(const json& document) {
  ML_TRY(const std::vector<PipelineStep> steps, pipeline_steps(document, "post_processor", "processors"));
  std::optional<std::uint32_t> bos;
  bool seen = false;
  for (const PipelineStep& step : steps) {
    if (step.type == "ByteLevel") continue;  // changes offsets only
    if (step.type != "TemplateProcessing") {
      return refusal(step.path + ".type",
                     fmt::format("is \"{}\", .mlt has only a BOS before the text", step.type));
    }
    if (seen) return refusal(step.path, "is a second template");
    seen = true;
    ML_TRY(bos, read_template(step));
  }
  return bos;
}

}  // namespace ml
