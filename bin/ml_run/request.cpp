#include "ml_run/request.hpp"

#include "common/json_text.hpp"

#include <fmt/format.h>

#include <limits>

namespace cli {

namespace {

using json = nlohmann::ordered_json;

ml::Error wrong(std::string_view key, std::string_view rule) {
  return {.status = ml::Status::arg, .message = fmt::format("{} must be {}", key, rule)};
}

bool read_count(const json& value, std::uint64_t max, std::uint64_t& out) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max) return false;
  out = value.get<std::uint64_t>();
  return true;
}

bool read_ids(const json& value, std::vector<std::uint32_t>& out) {
  if (!value.is_array()) return false;
  for (const json& element : value) {
    std::uint64_t id = 0;
    if (!read_count(element, std::numeric_limits<std::uint32_t>::max(), id)) return false;
    out.push_back(static_cast<std::uint32_t>(id));
  }
  return true;
}

bool read_stops(const json& value, std::vector<std::string>& out) {
  out.clear();
  const json list = value.is_array() ? value : json::array({value});
  for (const json& element : list) {
    if (!element.is_string()) return false;
    out.push_back(element.get<std::string>());
    if (out.back().empty()) return false;
  }
  return true;
}

}  // namespace

ml::Result<Request> parse_request(std::string_view line, const RunOptions& options,
                                  const ml::Tokenizer& tokenizer) {
  const auto object = parse_json(line);
  if (!object && !object.error().offset) return object.error();
  if (!object || !object->is_object())
    return ml::Error{.status = ml::Status::format, .message = "the line is no JSON object"};
  Request request{.tokens = {}, .n = options.n, .sampling = options.sampling, .stops = options.stops};
  constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
  bool has_prompt = false;
  for (const auto& [key, value] : object->items()) {
    std::uint64_t count = 0;
    if (key == "prompt" || key == "tokens") {
      if (has_prompt) return wrong("prompt and tokens", "one of both");
      has_prompt = true;
    }
    if (key == "prompt") {
      if (!value.is_string()) return wrong(key, "a string");
      request.tokens = tokenizer.encode(value.get_ref<const std::string&>());
    } else if (key == "tokens") {
      if (!read_ids(value, request.tokens) || request.tokens.empty())
        return wrong(key, "a list of token ids, of one at least");
    } else if (key == "n") {
      if (!read_count(value, kMax32, count)) return wrong(key, "an integer from 0 to 4294967295");
      request.n = static_cast<std::uint32_t>(count);
    } else if (key == "top_k") {
      if (!read_count(value, kMax32, count)) return wrong(key, "an integer from 0 to 4294967295");
      request.sampling.top_k = static_cast<std::uint32_t>(count);
    } else if (key == "seed") {
      if (!read_count(value, std::numeric_limits<std::uint64_t>::max(), count))
        return wrong(key, "an integer of 64 bits");
      request.sampling.seed = count;
    } else if (key == "stop") {
      if (!read_stops(value, request.stops))
        return wrong(key, "a text or a list of texts, none of them empty");
    } else if (key == "temp" || key == "top_p" || key == "min_p" || key == "repeat_penalty") {
      if (!value.is_number()) return wrong(key, "a number");
      const float number = value.get<float>();
      if (key == "temp") request.sampling.temperature = number;
      if (key == "top_p") request.sampling.top_p = number;
      if (key == "min_p") request.sampling.min_p = number;
      if (key == "repeat_penalty") request.sampling.repeat_penalty = number;
    } else {
      return wrong("the key " + key.substr(0, 40),
                   "one of prompt, tokens, n, temp, top_k, top_p, min_p, repeat_penalty, seed, stop");
    }
  }
  if (!has_prompt) return wrong("prompt", "there");
  if (request.tokens.empty()) {
    return ml::Error{.status = ml::Status::arg,
                     .message = "the prompt is empty, and the tokenizer adds no BOS"};
  }
  if (const auto sampler = ml::Sampler::create(request.sampling); !sampler) return sampler.error();
  return request;
}

}  // namespace cli
