#include "convert/tokenizer_pipeline.hpp"

#include "util/json.hpp"
#include "util/try.hpp"

namespace ml {

namespace {

using nlohmann::json;

constexpr auto refusal = ConversionLog::refusal;
constexpr auto malformed = ConversionLog::malformed;

Result<void> flatten(const json& value, const std::string& path, const std::string& list,
                     std::vector<PipelineStep>& out) {
  const json& type = json_member(value, "type");
  if (!type.is_string()) return malformed(path + ".type", "must be a string");
  if (type != "Sequence") {
    out.push_back({&value, path, type.get<std::string>()});
    return {};
  }
  const json& members = json_member(value, list);
  if (!members.is_array()) return malformed(path + "." + list, "must be an array");
  for (std::size_t i = 0; i < members.size(); ++i) {
    ML_CHECK(flatten(members[i], fmt::format("{}.{}[{}]", path, list, i), list, out));
  }
  return {};
}

// A member that may be absent, null or a boolean.
Result<bool> flag(const json& object, std::string_view name, std::string_view path) {
  const json& value = json_member(object, name);
  if (value.is_null()) return false;
  if (!value.is_boolean()) return malformed(fmt::format("{}.{}", path, name), "must be true or false");
  return value.get<bool>();
}

Result<void> check_model(const TokenizerJson& source) {
  const json& model = json_member(source.document, "model");
  if (!model.is_object()) return malformed("model", "must be an object");
  const json& type = json_member(model, "type");
  if (!type.is_null() && type != "BPE")
    return refusal("model.type", fmt::format("is {}, .mlt has only BPE", show_json(type)));
  if (!source.has_vocab) return malformed("model.vocab", "must be an object of ids");
  if (!source.has_merges) return malformed("model.merges", "must be an array");
  const json& dropout = json_member(model, "dropout");
  if (!dropout.is_null() && !(dropout.is_number() && dropout.get<double>() == 0.0)) {
    return refusal("model.dropout", fmt::format("is {}, encoding would be random", show_json(dropout)));
  }
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const json& affix = json_member(model, name);
    if (!affix.is_null() && affix != "") {
      return refusal(fmt::format("model.{}", name), fmt::format("is {}, .mlt has none", show_json(affix)));
    }
  }
  return {};
}

Result<std::uint32_t> read_byte_level_normalizer(const std::vector<PipelineStep>& steps) {
  std::uint32_t flags = 0;
  for (const PipelineStep& step : steps) {
    if (step.type != "NFC") {
      return refusal(step.path + ".type",
                     fmt::format("is \"{}\", a byte-level .mlt has only NFC", step.type));
    }
    flags = kMltNfc;
  }
  return flags;
}

}  // namespace

const json& json_member(const json& object, std::string_view name) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

Result<std::vector<PipelineStep>> pipeline_steps(const json& document, const std::string& part,
                                                 const std::string& list) {
  std::vector<PipelineStep> steps;
  const json& value = json_member(document, part);
  if (!value.is_null()) ML_CHECK(flatten(value, part, list, steps));
  return steps;
}

Result<TokenizerPipeline> read_tokenizer_pipeline(const TokenizerJson& source, ConversionLog& log) {
  const json& document = source.document;
  if (!document.is_object()) return Error{Status::format, "the document must be an object"};
  const json& version = json_member(document, "version");
  if (!version.is_null() && version != "1.0")
    return refusal("version", fmt::format("is {}, must be \"1.0\"", show_json(version)));
  ML_CHECK(check_model(source));
  const json& model = json_member(document, "model");
  ML_TRY(const std::vector<PipelineStep> normalizer, pipeline_steps(document, "normalizer", "normalizers"));
  ML_TRY(const std::vector<PipelineStep> pre, pipeline_steps(document, "pre_tokenizer", "pretokenizers"));
  ML_TRY(const bool byte_fallback, flag(model, "byte_fallback", "model"));
  ML_TRY(const bool ignore_merges, flag(model, "ignore_merges", "model"));

  TokenizerPipeline out;
  out.has_normalizer = !normalizer.empty();
  out.has_unk = !json_member(model, "unk_token").is_null();
  bool byte_level = false;
  for (const PipelineStep& step : pre) byte_level = byte_level || step.type == "ByteLevel";
  if (byte_level) {
    if (byte_fallback) return refusal("model.byte_fallback", "is true in a byte-level tokenizer");
    ML_TRY(const std::uint32_t normal, read_byte_level_normalizer(normalizer));
    ML_TRY(const std::uint32_t pattern, read_byte_level_pattern(pre, log));
    out.flags = normal | pattern;
  } else {
    if (!byte_fallback) {
      return refusal(
          "model.byte_fallback",
          "is not true and no ByteLevel pre-tokenizer is there: characters without a token would need an "
          "unk token, which .mlt does not have");
    }
    out.kind = TokenizerKind::sentencepiece;
    ML_TRY(out.flags, read_space_rule(normalizer, pre, log));
  }
  if (ignore_merges) out.flags |= kMltIgnoreMerges;
  ML_TRY(out.bos, read_post_processor(document));
  if (out.bos) out.flags |= kMltBos;
  return out;
}

}  // namespace ml
