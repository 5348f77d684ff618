#pragma once

#include "ml_run/options.hpp"
#include "ml_run/stop_text.hpp"

#include <ml/tokenizer.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cli {

/// What ml-run prints: token ids, or text that never ends inside a character and stops before a --stop text.
class Answer {
 public:
  /// @param tokenizer  null prints ids
  Answer(Tool& tool, const RunOptions& options, const ml::Tokenizer* tokenizer);

  /// Takes what comes before the answer: tokens of a session, then the prompt (printed with --echo).
  void begin(std::span<const std::uint32_t> history, std::span<const std::uint32_t> prompt);
  /// Prints one token of the answer. @return false once a stop text has come
  bool write(std::uint32_t token);
  /// Prints what was held back, and the newline.
  void end();
  /// The text of the answer so far; empty where ids are printed.
  const std::string& text() const { return text_; }

 private:
  void print_id(std::uint32_t token);
  void print_text(const std::string& text);

  Tool& tool_;
  const RunOptions& options_;
  const ml::Tokenizer* tokenizer_;
  std::optional<ml::StreamDecoder> decoder_;
  StopText stop_;
  std::string text_;
  bool any_id_ = false;
};

}  // namespace cli
