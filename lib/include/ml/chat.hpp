#pragma once

#include <ml/export.hpp>
#include <ml/status.hpp>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ml {

/// One turn of a conversation.
struct ChatMessage {
  std::string role;     ///< "system", "user", "assistant", "tool"
  std::string content;  ///< UTF-8; invalid bytes count as U+FFFD
};

/// What a template sees besides the messages.
struct ChatOptions {
  bool add_generation_prompt = true;  ///< end with the start of the assistant's turn
  /// bos_token, eos_token, ...: the model's special tokens by name; a missing one is undefined to the
  /// template
  std::map<std::string, std::string> special_tokens = {};
  /// More variables, a JSON object: {"enable_thinking": false, "tools": [...]}; "" is none. For tools see
  /// find_chat_template.
  std::string variables = {};
  /// What strftime_now tells: 2026-11-29, 2026-11-29 08:30 or 2026-11-29T08:30:05. Without it the template
  /// sees no such function, as the machine's clock would make results differ from day to day.
  std::string date = {};
};

struct ChatTemplateImpl;

/// A model's chat template: messages to the prompt that the model was trained on. Templates are in the part
/// of the Jinja language that published models use, with the meaning that Jinja 3.1 gives it in a sandbox
/// with trim_blocks and lstrip_blocks; anything else is refused by name and line. Constant and safe to share
/// between threads.
class ML_API ChatTemplate {
 public:
  /// Parses a template.
  ///
  /// @error format       not a template; the message names the line
  /// @error unsupported  a statement that is not understood
  /// @error limit        nested too deeply
  static Result<ChatTemplate> parse(std::string_view text);

  /// Renders messages to a prompt.
  ///
  /// @error format       the template refuses the messages (the message is then its own), or does what its
  ///                     language forbids
  /// @error unsupported  a function, filter, test or method that is not understood
  /// @error limit        too many steps, too much text or nesting
  /// @error arg          unusable variables or date
  Result<std::string> render(std::span<const ChatMessage> messages, const ChatOptions& options = {}) const;

  /// The same for messages as JSON: a list of objects with any keys (tool_calls, reasoning_content, ...), in
  /// the order of the text.
  Result<std::string> render_json(std::string_view messages, const ChatOptions& options = {}) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const ChatTemplateImpl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const ChatTemplateImpl> impl_;
};

/// A chat template as a model's folder or file holds it.
struct ChatTemplateFile {
  std::string path;                                   ///< the file that it is from
  std::string text;                                   ///< the template
  std::map<std::string, std::string> special_tokens;  ///< of tokenizer_config.json: for ChatOptions
};

/// Finds the chat template of a model: the one that a .gguf carries, else chat_template.jinja, else that of
/// tokenizer_config.json (of a list the one named "default"), else chat_template.json.
///
/// Some models have a second template for conversations with tools, named "tool_use": in the list, as
/// additional_chat_templates/tool_use.jinja or as the .gguf's tokenizer.chat_template.tool_use. Whoever gives
/// a variable "tools" asks for that one; the default template may leave the tools out without a word.
///
/// @param model  a model folder, or a file in one
/// @param tools  take the template for tools where there is one
/// @return       nothing where the folder has no template
/// @error io, format  a file that is there cannot be read or is not what its name says
ML_API Result<std::optional<ChatTemplateFile>> find_chat_template(const std::string& model,
                                                                  bool tools = false);

}  // namespace ml
