#include "ml_run/answer.hpp"

#include "common/text.hpp"

#include <nlohmann/json.hpp>

namespace cli {

std::string answer_line(const std::string* text, const std::vector<std::uint32_t>* ids, std::size_t n_prompt,
                        std::size_t n, std::string_view finish) {
  nlohmann::ordered_json answer;
  if (text != nullptr) answer["text"] = *text;
  if (ids != nullptr) answer["ids"] = *ids;
  answer["n_prompt"] = n_prompt;
  answer["n"] = n;
  answer["finish"] = finish;
  return json_line(answer);
}

Answer::Answer(Tool& tool, const RunOptions& options, const ml::Tokenizer* tokenizer)
    : tool_(tool),
      options_(options),
      tokenizer_(options.ids && !options.json ? nullptr : tokenizer),
      stop_(options.stops) {
  if (tokenizer_ != nullptr) decoder_.emplace(*tokenizer_);
}

void Answer::begin(std::span<const std::uint32_t> history, std::span<const std::uint32_t> prompt) {
  if (!decoder_) {
    for (const std::uint32_t token : prompt) {
      if (options_.echo) print_id(token);
    }
    return;
  }
  // BOS is no text, and what follows it starts like a text of its own.
  const auto& first = history.empty() ? prompt : history;
  const std::size_t n_bos = !first.empty() && tokenizer_->bos() == first.front() ? 1 : 0;
  decoder_->push(history.subspan(history.empty() ? 0 : n_bos));
  const std::string text = decoder_->push(prompt.subspan(history.empty() ? n_bos : 0));
  if (options_.echo) tool_.print(text);
}

void Answer::print_id(std::uint32_t token) {
  tool_.print("{}{}", any_id_ ? " " : "", token);
  any_id_ = true;
}

void Answer::print_text(const std::string& text) {
  text_ += text;
  if (!options_.json) tool_.print(text);
}

bool Answer::write(std::uint32_t token) {
  ids_.push_back(token);
  if (decoder_) {
    print_text(stop_.push(decoder_->push({&token, 1})));
  } else if (!options_.json) {
    print_id(token);
  }
  tool_.flush();
  return !stop_.stopped();
}

void Answer::end(std::size_t n_prompt, std::string_view finish) {
  if (decoder_) {
    print_text(stop_.push(decoder_->finish()));
    print_text(stop_.finish());
  }
  tool_.print(options_.json ? answer_line(decoder_ ? &text_ : nullptr, options_.ids ? &ids_ : nullptr,
                                          n_prompt, ids_.size(), finish)
                            : "\n");
}

}  // namespace cli
