#include "chat/interpreter.hpp"
#include "chat/parser.hpp"
#include "util/try.hpp"
#include "util/utf8.hpp"

#include <fmt/format.h>

#include <ml/chat.hpp>

namespace ml {

struct ChatTemplateImpl {
  chat::Template whole;
};

namespace {

// A template larger than this is none.
constexpr std::size_t kMaxTemplate = 1 << 20;

chat::Value lossy_text(std::string_view bytes) {
  std::string text;
  append_lossy_utf8(text, bytes);
  return chat::text_value(std::move(text));
}

Error named(Error error, std::string_view what) {
  error.message = fmt::format("{}: {}", what, error.message);
  error.offset.reset();
  if (error.status == Status::format) error.status = Status::arg;
  return error;
}

Result<std::string> render_values(const chat::Template& whole, chat::Value messages, std::uint64_t n_bytes,
                                  const ChatOptions& options) {
  // transformers passes tools and documents always.
  chat::Interpreter::Scope variables;
  variables.emplace("tools", chat::None{});
  variables.emplace("documents", chat::None{});
  for (const auto& [name, token] : options.special_tokens)
    variables.insert_or_assign(name, lossy_text(token));
  if (!options.variables.empty()) {
    auto more = chat::from_json(options.variables);
    if (!more) return named(std::move(more.error()), "variables");
    const auto* dict = std::get_if<chat::DictRef>(&*more);
    if (dict == nullptr) return Error{.status = Status::arg, .message = "variables are no JSON object"};
    for (const auto& [name, value] : (*dict)->items) variables.insert_or_assign(*name, value);
  }
  variables.erase("self");  // always the template itself, which is refused where it is used
  variables.insert_or_assign("messages", std::move(messages));
  variables.insert_or_assign("add_generation_prompt", options.add_generation_prompt);
  std::optional<chat::Date> date;
  if (!options.date.empty()) {
    ML_TRY(date, chat::parse_date(options.date));
  }
  return chat::Interpreter(std::move(variables), date, n_bytes + options.variables.size()).run(whole);
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view text) {
  if (text.size() > kMaxTemplate) {
    return Error{.status = Status::limit,
                 .message = fmt::format("a template of over {} bytes", kMaxTemplate)};
  }
  ML_TRY(chat::Template whole, chat::parse_template(text));
  return ChatTemplate(std::make_shared<const ChatTemplateImpl>(ChatTemplateImpl{std::move(whole)}));
}

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages,
                                         const ChatOptions& options) const {
  std::vector<chat::Value> list;
  std::uint64_t n_bytes = 0;
  for (const ChatMessage& message : messages) {
    n_bytes += message.role.size() + message.content.size();
    std::vector<std::pair<chat::Text, chat::Value>> fields;
    fields.emplace_back(std::make_shared<const std::string>("role"), lossy_text(message.role));
    fields.emplace_back(std::make_shared<const std::string>("content"), lossy_text(message.content));
    ML_TRY(chat::Value one, chat::make_dict(std::move(fields)));
    list.push_back(std::move(one));
  }
  ML_TRY(chat::Value value, chat::make_list(std::move(list)));
  return render_values(impl_->whole, std::move(value), n_bytes, options);
}

Result<std::string> ChatTemplate::render_json(std::string_view messages, const ChatOptions& options) const {
  auto value = chat::from_json(messages);
  if (!value) return named(std::move(value.error()), "messages");
  const auto* list = std::get_if<chat::ListRef>(&*value);
  if (list == nullptr) return Error{.status = Status::arg, .message = "messages are no JSON list"};
  return render_values(impl_->whole, *value, messages.size(), options);
}

}  // namespace ml
