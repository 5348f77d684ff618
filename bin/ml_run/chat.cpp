#include "ml_run/chat.hpp"

namespace cli {

ml::Result<Chat> Chat::open(const std::string& model, const std::string& system) {
  auto file = ml::find_chat_template(model);
  if (!file) return std::move(file.error());
  if (model == "-" || !*file) {
    return ml::Error{
        .status = ml::Status::arg,
        .message = "no chat template (chat_template.jinja or tokenizer_config.json) with the model",
        .path = model};
  }
  auto parsed = ml::ChatTemplate::parse((*file)->text);
  if (!parsed) return ml::with_path(std::move(parsed.error()), (*file)->path);
  Chat chat(std::move(*parsed));
  chat.path_ = (*file)->path;
  chat.options_.special_tokens = (*file)->special_tokens;
  if (!system.empty()) chat.messages_.push_back({"system", system});
  return chat;
}

ml::Result<std::string> Chat::ask(const std::string& text) {
  messages_.push_back({"user", text});
  auto prompt = template_.render(messages_, options_);
  if (!prompt) return ml::with_path(std::move(prompt.error()), path_);
  return prompt;
}

}  // namespace cli
