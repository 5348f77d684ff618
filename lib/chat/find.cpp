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
constexpr std::string_view kForTools = "tool_use";

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

// Of a list of named templates; of several with one name the last counts, as in the reference.
std::optional<std::string> template_named(std::string_view name, const json& list) {
  std::optional<std::string> text;
  for (const json& one : list) {
    if (!one.is_object() || !one.contains("name") || one["name"] != name) continue;
    if (one.contains("template") && one["template"].is_string()) text = one["template"].get<std::string>();
  }
  return text;
}

// `chat_template`: text, or a list of named ones.
Result<std::optional<std::string>> template_of(const json& object, bool tools, const std::string& path) {
  const auto found = object.find("chat_template");
  if (found == object.end() || found->is_null()) return std::optional<std::string>();
  if (found->is_string()) return std::optional(found->get<std::string>());
  if (!found->is_array()) {
    return Error{.status = Status::format,
                 .message = fmt::format("chat_template is {}, must be text or a list", show_json(*found)),
                 .path = path};
  }
  if (tools) {
    if (auto text = template_named(kForTools, *found)) return text;
  }
  if (auto text = template_named("default", *found)) return text;
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
Result<std::optional<ChatTemplateFile>> find_in_file(const std::string& model, bool tools) {
  std::string key = "tokenizer.chat_template";
  ML_TRY(const auto input, InputBytes::open_regular(model));
  if (!is_gguf(input->data())) return std::optional<ChatTemplateFile>();
  auto file = read_gguf(input->data());
  if (!file) return with_path(std::move(file.error()), model);
  if (const std::string other = fmt::format("{}.{}", key, kForTools); tools && file->find(other) != nullptr) {
    key = other;
  }
  const GgufValue* value = file->find(key);
  if (value == nullptr) return std::optional<ChatTemplateFile>();
  if (!value->text()) {
    return Error{.status = Status::format,
                 .message = fmt::format("{} must be a string", key),
                 .path = model,
                 .offset = value->offset};
  }
  return std::optional(ChatTemplateFile{model, std::string(*value->text()), gguf_special_tokens(*file)});
}

// A file of its own for the template, of which there may be one more for tools.
std::optional<std::filesystem::path> own_file(const std::filesystem::path& folder, bool tools) {
  if (tools) {
    const auto path = folder / "additional_chat_templates" / fmt::format("{}.jinja", kForTools);
    if (is_there(path)) return path;
  }
  const auto path = folder / "chat_template.jinja";
  return is_there(path) ? std::optional(path) : std::nullopt;
}

}  // namespace

Result<std::optional<ChatTemplateFile>> find_chat_template(const std::string& model, bool tools) {
  std::error_code failure;
  std::filesystem::path folder = model;
  if (model != "-" && std::filesystem::is_regular_file(folder, failure)) {
    ML_TRY(auto own, find_in_file(model, tools));
    if (own) return own;
  }
  if (!std::filesystem::is_directory(folder, failure)) folder = folder.parent_path();
  ChatTemplateFile file;
  std::optional<std::string> text;
  const auto own = own_file(folder, tools);
  const std::filesystem::path config = folder / "tokenizer_config.json";
  if (is_there(config)) {
    ML_TRY(const json object, read_object(config.string()));
    take_special_tokens(object, file.special_tokens);
    file.path = config.string();
    if (!own) {
      ML_TRY(text, template_of(object, tools, file.path));
    }
  }
  if (own) {
    file.path = own->string();
    ML_TRY(text, read_text(file.path, kRules));
  } else if (const auto other = folder / "chat_template.json"; !text && is_there(other)) {
    file.path = other.string();
    ML_TRY(const json object, read_object(file.path));
    ML_TRY(text, template_of(object, tools, file.path));
  }
  if (!text) return std::optional<ChatTemplateFile>();
  file.text = std::move(*text);
  return std::optional(std::move(file));
}

}  // namespace ml
