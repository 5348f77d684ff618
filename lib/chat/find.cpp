#include "convert/gguf_tokenizer.hpp"
#include "util/json.hpp"
#include "util/mapped_file.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <ml/chat.hpp>
#include <ml/input.hpp>

#include <filesystem>

namespace ml {

namespace {

using nlohmann::json;

constexpr InputRules kRules{.max_bytes = kMaxJsonBytes, .regular = true};

bool is_there(const std::filesystem::path& path) {
  std::error_code failure;
  return std::filesystem::exists(path, failure);
}

Result<json> read_object(const std::string& path) {
  ML_TRY(const std::string text, read_text(path, kRules));
  auto value = parse_json(text);
  if (!value) return with_path(std::move(value.error()), path);
  if (!value->is_object()) return Error{.status = Status::format, .message = "no JSON object", .path = path};
  return value;
}

// `chat_template`: text, or a list of named ones.
Result<std::optional<std::string>> template_of(const json& object, const std::string& path) {
  const auto found = object.find("chat_template");
  if (found == object.end() || found->is_null()) return std::optional<std::string>();
  if (found->is_string()) return std::optional(found->get<std::string>());
  if (!found->is_array()) {
    return Error{.status = Status::format,
                 .message = fmt::format("chat_template is {}, must be text or a list", show_json(*found)),
                 .path = path};
  }
  for (const json& one : *found) {
    if (!one.is_object() || !one.contains("name") || one["name"] != "default") continue;
    if (one.contains("template") && one["template"].is_string())
      return std::optional(one["template"].get<std::string>());
  }
  return Error{.status = Status::unsupported,
               .message = "chat_template is a list without a template named 'default'",
               .path = path};
}

// bos_token and the like: text, or an object that says more.
void take_special_tokens(const json& config, std::map<std::string, std::string>& tokens) {
  for (const auto& [key, value] : config.items()) {
    if (!key.ends_with("_token")) continue;
    if (value.is_string()) {
      tokens[key] = value.get<std::string>();
    } else if (value.is_object() && value.contains("content") && value["content"].is_string()) {
      tokens[key] = value["content"].get<std::string>();
    }
  }
}

// A .gguf carries its template; nothing for other files and for one without.
Result<std::optional<ChatTemplateFile>> find_in_file(const std::string& model) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  ML_TRY(const auto input, InputBytes::open_regular(model));
  if (!is_gguf(input->data())) return std::optional<ChatTemplateFile>();
  auto file = read_gguf(input->data());
  if (!file) return with_path(std::move(file.error()), model);
  const GgufValue* value = file->find(kKey);
  if (value == nullptr) return std::optional<ChatTemplateFile>();
  if (!value->text()) {
    return Error{.status = Status::format,
                 .message = fmt::format("{} must be a string", kKey),
                 .path = model,
                 .offset = value->offset};
  }
  return std::optional(ChatTemplateFile{model, std::string(*value->text()), gguf_special_tokens(*file)});
}

}  // namespace

Result<std::optional<ChatTemplateFile>> find_chat_template(const std::string& model) {
  std::error_code failure;
  std::filesystem::path folder = model;
  if (model != "-" && std::filesystem::is_regular_file(folder, failure)) {
    ML_TRY(auto own, find_in_file(model));
    if (own) return own;
  }
  if (!std::filesystem::is_directory(folder, failure)) folder = folder.parent_path();
  ChatTemplateFile file;
  std::optional<std::string> text;
  const std::filesystem::path config = folder / "tokenizer_config.json";
  if (is_there(config)) {
    ML_TRY(const json object, read_object(config.string()));
    take_special_tokens(object, file.special_tokens);
    file.path = config.string();
    if (!is_there(folder / "chat_template.jinja")) {
      ML_TRY(text, template_of(object, file.path));
    }
  }
  if (const auto path = folder / "chat_template.jinja"; is_there(path)) {
    file.path = path.string();
    ML_TRY(text, read_text(file.path, kRules));
  } else if (const auto other = folder / "chat_template.json"; !text && is_there(other)) {
    file.path = other.string();
    ML_TRY(const json object, read_object(file.path));
    ML_TRY(text, template_of(object, file.path));
  }
  if (!text) return std::optional<ChatTemplateFile>();
  file.text = std::move(*text);
  return std::optional(std::move(file));
}

}  // namespace ml
