#include "convert/tokenizer_specials.hpp"

#include "util/json.hpp"

namespace ml {

namespace {

using nlohmann::json;

// An id, or the first of a list of ids.
std::optional<std::uint32_t> config_id(const json& config, const std::string& key) {
  const json* value = &json_member(config, key);
  if (value->is_null()) value = &json_member(json_member(config, "text_config"), key);
  if (value->is_array() && !value->empty()) value = &value->front();
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() >= kMltMaxVocab) return std::nullopt;
  return value->get<std::uint32_t>();
}

// "<s>", or an added token's object.
std::optional<std::string> config_token(const json& value) {
  const json& content = value.is_object() ? json_member(value, "content") : value;
  return content.is_string() ? std::optional(content.get<std::string>()) : std::nullopt;
}

class SpecialFinder {
 public:
  SpecialFinder(const TokenizerVocab& vocab, const TokenizerSideFiles& beside, ConversionLog& log)
      : vocab_(vocab), beside_(beside), log_(log) {}

  // @param name  "bos" or "eos"
  std::int32_t find(const std::string& name, std::optional<std::uint32_t> from_post_processor) {
    const std::string key = name + "_token";
    if (beside_.tokenizer_config.contains(key)) {
      const json& value = beside_.tokenizer_config[key];
      if (value.is_null()) return -1;
      const auto text = config_token(value);
      const auto id = text ? vocab_.find(*text) : std::nullopt;
      if (id) return static_cast<std::int32_t>(*id);
      log_.note(fmt::format("tokenizer_config.json: {} is {}, which is no token", key, show_json(value)));
    }
    if (from_post_processor) return static_cast<std::int32_t>(*from_post_processor);
    for (const json* config : {&beside_.config, &beside_.generation_config}) {
      const auto id = config_id(*config, key + "_id");
      if (id && *id < vocab_.n_ids()) return static_cast<std::int32_t>(*id);
    }
    return -1;
  }

 private:
  const TokenizerVocab& vocab_;
  const TokenizerSideFiles& beside_;
  ConversionLog& log_;
};

}  // namespace

void choose_specials(MltContents& contents, const TokenizerPipeline& pipeline, const TokenizerVocab& vocab,
                     const TokenizerSideFiles& beside, ConversionLog& log) {
  SpecialFinder finder(vocab, beside, log);
  contents.eos = finder.find("eos", std::nullopt);
  contents.bos = finder.find("bos", pipeline.bos);
  if (!pipeline.bos) return;
  const auto written = static_cast<std::int32_t>(*pipeline.bos);
  if (contents.bos != written) {
    log.note(fmt::format("BOS is {}, which the post-processor prepends, not {} of tokenizer_config.json",
                         written, contents.bos));
  }
  contents.bos = written;
}

}  // namespace ml
