#include "ml_run/answer.hpp"

namespace cli {

Answer::Answer(Tool& tool, const RunOptions& options, const ml::Tokenizer* tokenizer)
    : tool_(tool), options_(options), tokenizer_(options.ids ? nullptr : tokenizer), stop_(options.stops) {
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
  tool_.print(text);
}

bool Answer::write(std::uint32_t token) {
  if (decoder_) {
    print_text(stop_.push(decoder_->push({&token, 1})));
  } else {
    print_id(token);
  }
  tool_.flush();
  return !stop_.stopped();
}

void Answer::end() {
  if (decoder_) {
    print_text(stop_.push(decoder_->finish()));
    print_text(stop_.finish());
  }
  tool_.print("\n");
}

}  // namespace cli
