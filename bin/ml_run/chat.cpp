#include "ml_run/chat.hpp"

namespace cli {

ml::Result<Chat> Chat::open(const std::string& model, const std::string& system, const std::string& date) {
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
  chat.options_.date = date;
  if (!system.empty()) chat.messages_.push_back({"system", system});
  return chat;
}

ml::Result<std::string> Chat::ask(const std::string& text) {
  messages_.push_back({"user", text});
  auto prompt = template_.render(messages_, options_);
  if (prompt) return prompt;
  ml::Error error = ml::with_path(std::move(prompt.error()), path_);
  if (error.message.ends_with("asks for the date, and none is given")) error.message += "; --date gives one";
  return error;
}

}  // namespace cli
