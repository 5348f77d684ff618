#pragma once

#include "ml_run/chat.hpp"
#include "ml_run/options.hpp"
#include "ml_run/route_log.hpp"

#include <ml/hash.hpp>
#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/session.hpp>
#include <ml/speculation.hpp>
#include <ml/tokenizer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cli {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What ml-run does, step by step. A step that returns false has said why.
class TextRun {
 public:
  TextRun(Tool& tool, const RunOptions& options) : tool_(tool), options_(options) {}
  void operator()();

 private:
  bool open_model();
  bool open_tokenizer();
  bool read_session();
  bool open_session_file();
  bool open_routes();
  bool open_chat();
  bool read_prompt();
  bool encode_prompt();
  ml::SessionOptions main_session_options(std::uint64_t longest_prompt) const;
  bool create_session();
  bool open_draft();
  std::vector<std::string> inputs() const;
  bool eval_prompt();
  bool read_tokens(std::span<const std::uint32_t> tokens);
  bool take_logits(const ml::Result<std::span<const float>>& logits);
  bool check_finite();
  bool eval_prompt_with_logits();
  std::string generate();
  void collect();
  void converse();
  bool take_turn(const std::string& prompt);
  bool ends_text(std::uint32_t token) const {
    return std::find(ends_.begin(), ends_.end(), token) != ends_.end();
  }
  void save_session();
  void save_routes();
  void print_digest(const std::string& what, const ml::Hasher& hasher);
  void print_stats();
  bool report(const ml::Error& error, const std::string& path = {}) {
    tool_.fail(ml::with_path(error, path));
    return false;
  }

  Tool& tool_;
  const RunOptions& options_;
  std::optional<ml::Model> model_;
  std::string tokenizer_path_;
  std::optional<ml::Tokenizer> tokenizer_;
  std::optional<ml::Session> session_;
  std::unique_ptr<ml::DraftSource> draft_;
  std::uint32_t n_draft_ = 0;  // tokens it guesses at most
  std::optional<Chat> chat_;
  std::vector<std::uint32_t> ends_;  // tokens that end a text
  std::string saved_;                // the session file's bytes, empty where there is none
  std::uint32_t n_saved_ = 0;        // its tokens
  std::optional<ml::OutputFile> session_file_;
  bool unsound_ = false;  // a step failed: the session must not go on from here
  std::optional<RouteLog> routes_;
  std::string prompt_;
  std::vector<std::uint32_t> tokens_;   // to evaluate: what a session left pending, then the prompt
  std::vector<std::uint32_t> pending_;  // said, and not evaluated yet
  std::ptrdiff_t n_said_ = 0;           // of tokens_: those that a session left pending
  std::ptrdiff_t n_history_ = 0;        // tokens of the session before tokens_
  std::vector<float> logits_;
  std::vector<std::string> after_;  // notes that wait for the end of the answer
  double load_seconds_ = 0;
  double prompt_seconds_ = 0;
  double decode_seconds_ = 0;
  std::uint64_t n_passes_ = 0;  // of draft_
  std::uint64_t n_drafted_ = 0;
  std::uint64_t n_accepted_ = 0;
};

}  // namespace cli
