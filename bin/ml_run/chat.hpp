#pragma once

#include <ml/chat.hpp>
#include <ml/status.hpp>

#include <string>
#include <vector>

namespace cli {

/// A conversation in the form of the model's chat template.
class Chat {
 public:
  /// @param model   whose template it is
  /// @param system  the system message; "" is none
  /// @param date    for templates that ask for it; "" is none
  /// @error arg     the model has no template
  /// @error io, format, unsupported
  static ml::Result<Chat> open(const std::string& model, const std::string& system, const std::string& date);

  /// Adds what the user says. @return the prompt of the whole conversation, the start of the answer included
  ml::Result<std::string> ask(const std::string& text);
  /// Adds what the model said.
  void answer(const std::string& text) { messages_.push_back({"assistant", text}); }
  /// The file that the template is from.
  const std::string& path() const { return path_; }

 private:
  explicit Chat(ml::ChatTemplate chat_template) : template_(std::move(chat_template)) {}

  ml::ChatTemplate template_;
  ml::ChatOptions options_;
  std::string path_;
  std::vector<ml::ChatMessage> messages_;
};

}  // namespace cli
