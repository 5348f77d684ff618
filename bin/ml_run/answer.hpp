#pragma once

#include "ml_run/options.hpp"
#include "ml_run/stop_text.hpp"

#include <ml/tokenizer.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// An answer of --json or --jsonl, as one line.
///
/// @param text  null: there is no tokenizer
/// @param ids   null: they are not asked for
std::string answer_line(const std::string* text, const std::vector<std::uint32_t>* ids, std::size_t n_prompt,
                        std::size_t n, std::string_view finish);

/// What ml-run prints: token ids, or text that never ends inside a character and stops before a --stop text,
/// or with --json both as an object at the end.
class Answer {
 public:
  /// @param tokenizer  null where there is none
  Answer(Tool& tool, const RunOptions& options, const ml::Tokenizer* tokenizer);

  /// Takes what comes before the answer: tokens of a session, then the prompt (printed with --echo).
  void begin(std::span<const std::uint32_t> history, std::span<const std::uint32_t> prompt);
  /// Prints one token of the answer. @return false once a stop text has come
  bool write(std::uint32_t token);
  /// Prints what was held back, and the newline.
  ///
  /// @param n_prompt  tokens of the prompt
  /// @param finish    why the answer is over: BATCHES of ml-run(1)
  void end(std::size_t n_prompt, std::string_view finish);
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
  std::vector<std::uint32_t> ids_;
  bool any_id_ = false;
};

}  // namespace cli
