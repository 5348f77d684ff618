#include "catch.hpp"
#include "folder.hpp"

#include <ml/chat.hpp>

#include <filesystem>
#include <optional>

namespace {

std::optional<ml::ChatTemplateFile> find(const std::string& model, bool tools = false) {
  auto found = ml::find_chat_template(model, tools);
  if (!found) FAIL(ml::describe(found.error()));
  return std::move(*found);
}

}  // namespace

TEST_CASE("A model's template is found in its folder or beside its file", "[chat]") {
  const TempFolder folder;
  CHECK_FALSE(find(folder.path()));
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false},
                                            "pad_token": null, "add_bos_token": true})");
  CHECK_FALSE(find(folder.path()));
  folder.write("chat_template.json", R"({"chat_template": "from json"})");
  CHECK(find(folder.path())->text == "from json");
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": "from config"})");
  CHECK(find(folder.path())->text == "from config");
  CHECK(find(folder.path())->path == folder.file("tokenizer_config.json"));
  folder.write("chat_template.jinja", "from jinja\n");
  CHECK(find(folder.path())->text == "from jinja\n");
  CHECK(find(folder.path())->special_tokens ==
        std::map<std::string, std::string>{{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  CHECK(find(folder.file("model.mlb"))->text == "from jinja\n");
}

TEST_CASE("Of several templates the default one counts", "[chat]") {
  const TempFolder folder;
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "tools", "template": "a"}, {"name": "default", "template": "b"}]})");
  CHECK(find(folder.path())->text == "b");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "tools", "template": "a"}]})");
  CHECK(ml::find_chat_template(folder.path()).error().status == ml::Status::unsupported);
  for (const char* bad : {"{", "[]", R"({"chat_template": 1})", "\xff"}) {
    folder.write("tokenizer_config.json", bad);
    const auto found = ml::find_chat_template(folder.path());
    INFO(bad);
    REQUIRE_FALSE(found);
    CHECK(found.error().status == ml::Status::format);
    CHECK(found.error().path == folder.file("tokenizer_config.json"));
  }
}

TEST_CASE("For tools the template named tool_use counts where there is one", "[chat]") {
  const TempFolder folder;
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"},
                                     {"name": "default", "template": "c"}]})");
  CHECK(find(folder.path())->text == "c");
  CHECK(find(folder.path(), true)->text == "b");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "a"}]})");
  CHECK(find(folder.path(), true)->text == "a");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "b"}]})");
  CHECK(find(folder.path(), true)->text == "b");
  CHECK(ml::find_chat_template(folder.path()).error().status == ml::Status::unsupported);
  folder.write("chat_template.jinja", "d");
  CHECK(find(folder.path(), true)->text == "d");
  std::filesystem::create_directory(folder.file("additional_chat_templates"));
  folder.write("additional_chat_templates/tool_use.jinja", "e");
  CHECK(find(folder.path())->text == "d");
  CHECK(find(folder.path(), true)->text == "e");
}
