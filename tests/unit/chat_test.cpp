// Chat templates against what Jinja renders (tests/data/chat/expected.py), and what is refused.

#include "catch.hpp"
#include "data.hpp"

#include <nlohmann/json.hpp>

#include <ml/chat.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

const std::map<std::string, std::string> kTokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};

std::vector<json> read_cases(const std::string& name) {
  std::istringstream lines(read_file(data_path("chat/" + name + ".jsonl")));
  std::vector<json> cases;
  for (std::string line; std::getline(lines, line);) cases.push_back(json::parse(line));
  return cases;
}

ml::ChatOptions options_of(const json& one) {
  return {.add_generation_prompt = one.at("add_generation_prompt").get<bool>(),
          .special_tokens = kTokens,
          .variables = one.value("variables", ""),
          .date = one.value("date", "")};
}

// The reference's text, or a failure where it has one; a template's own error keeps its words.
void check_case(const ml::ChatTemplate& chat_template, const json& one) {
  const auto text = chat_template.render_json(one.at("messages").get<std::string>(), options_of(one));
  if (one.contains("text")) {
    if (!text) FAIL(ml::describe(text.error()));
    CHECK(*text == one.at("text").get<std::string>());
  } else {
    REQUIRE_FALSE(text);
    if (one.at("own").get<bool>()) {
      CHECK(text.error().status == ml::Status::format);
      CHECK(text.error().message == one.at("error").get<std::string>());
    }
  }
}

ml::Result<std::string> render(std::string_view text, const ml::ChatOptions& options = {}) {
  auto chat_template = ml::ChatTemplate::parse(text);
  if (!chat_template) return std::move(chat_template.error());
  const std::vector<ml::ChatMessage> messages = {{"user", "Hi"}};
  return chat_template->render(messages, options);
}

void check_refused(std::string_view text, ml::Status status, const std::string& part) {
  const auto rendered = render(text);
  INFO(text.substr(0, 200));
  REQUIRE_FALSE(rendered);
  CHECK(rendered.error().status == status);
  INFO(rendered.error().message);
  CHECK(rendered.error().message.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("Templates of models render as Jinja renders them", "[chat]") {
  const std::string name =
      GENERATE(as<std::string>{}, "chatml", "gemma2", "gemma3", "llama2", "llama3", "llama3.2", "mistral",
               "mistral-nemo", "phi3", "qwen2.5", "qwen3", "qwen3.5", "smollm3");
  INFO(name);
  const auto chat_template = ml::ChatTemplate::parse(read_file(data_path("chat/" + name + ".jinja")));
  if (!chat_template) FAIL(ml::describe(chat_template.error()));
  const auto cases = read_cases(name);
  REQUIRE(cases.size() == 72);
  for (const json& one : cases) {
    INFO(one.dump());
    check_case(*chat_template, one);
  }
}

TEST_CASE("Every construct of the language means what it means to Jinja", "[chat]") {
  const auto cases = read_cases("language");
  REQUIRE(cases.size() > 100);
  for (const json& one : cases) {
    INFO(one.dump());
    const auto chat_template = ml::ChatTemplate::parse(one.at("template").get<std::string>());
    if (chat_template) {
      check_case(*chat_template, one);
    } else {
      CHECK(one.contains("error"));
    }
  }
}

TEST_CASE("Messages may come as fields instead of JSON", "[chat]") {
  const auto chat_template = ml::ChatTemplate::parse(read_file(data_path("chat/chatml.jinja")));
  REQUIRE(chat_template);
  const std::vector<ml::ChatMessage> messages = {{"system", "Be brief."}, {"user", "d\xc3\xb6gs \xff"}};
  const auto text = chat_template->render(messages);
  REQUIRE(text);
  CHECK(*text ==
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nd\xc3\xb6gs \xef\xbf\xbd<|im_end|>\n"
        "<|im_start|>assistant\n");
}

TEST_CASE("What is not known is refused by name and line", "[chat]") {
  using ml::Status;
  check_refused("a\n{% include 'x' %}", Status::unsupported,
                "line 2: the template uses the statement 'include'");
  check_refused("{% raw %}a{% endraw %}", Status::unsupported, "'raw'");
  check_refused("{% for a in [] recursive %}{% endfor %}", Status::unsupported, "recursive");
  check_refused("{% for a in [1] %}{% macro b() %}{% endmacro %}{% endfor %}", Status::unsupported, "macro");
  check_refused("\n\n{{ messages | dictsort }}", Status::unsupported,
                "line 3: the template uses the filter 'dictsort'");
  check_refused("{{ 1 is sameas 1 }}", Status::unsupported, "the test 'sameas'");
  check_refused("{{ 'a'.encode() }}", Status::unsupported, "the method 'encode' of text");
  check_refused("{{ [1].append(2) }}", Status::unsupported, "the attribute 'append' of a list");
  check_refused("{{ ''.__class__ }}", Status::unsupported, "'__class__'");
  check_refused("{{ current_date() }}", Status::unsupported, "the function 'current_date'");
  check_refused("{{ lipsum() }}", Status::unsupported, "'lipsum'");
  check_refused("{{ '%s' % 1 }}", Status::unsupported, "formatting with %");
  check_refused("{{ 2 ** 3 }}", Status::unsupported, "**");
  check_refused("{{ range(*[1]) }}", Status::unsupported, "unpacking");
  check_refused("{{ '\xc3\xa9' | upper }}", Status::unsupported, "case");
  check_refused("{{ ['\xc3\xa9'] }}", Status::unsupported, "ASCII");
  check_refused("{{ {}.items() }}", Status::unsupported, "view");
  check_refused("{{ ('a' | safe) + '<' }}", Status::unsupported, "safe");
  check_refused("{{ '<' ~ ('a' | safe) }}", Status::unsupported, "safe");
  check_refused("{% set x = messages | selectattr('role') %}", Status::unsupported, "generator");
  check_refused("{{ 'a'.join }}", Status::unsupported, "printing a method");
  check_refused("{{ 2 == range }}{{ range == range }}", Status::unsupported,
                "comparing two values of type function");
  check_refused("{{ {}.items() == {}.items() }}", Status::unsupported, "comparing two views or generators");
  check_refused("{{ [1] < [2] }}", Status::unsupported, "the order of lists");
  check_refused("{{ 'aa' | replace('a', 'b', 1) }}", Status::unsupported, "'replace' with a count");
  check_refused("{{ 1 | tojson(sort_keys=true) }}", Status::unsupported,
                "'tojson' with ensure_ascii or sort_keys");
  check_refused("{{ 1 | tojson(indent='x') }}", Status::unsupported, "an indent that is no number");
  check_refused("{{ '1_000' | int }}", Status::unsupported, "text that is not a plain number");
  check_refused("{{ 5 .foo() }}", Status::unsupported, "the function 'foo' of a int");
  check_refused("{{ (5).real }}", Status::unsupported, "the attribute 'real'");
  check_refused("{{ {}.update(1) }}", Status::unsupported, "the attribute 'update' of a dict");
  check_refused("{{ {}.copy() }}", Status::unsupported, "the method 'copy' of a dict");
  check_refused("{{ [('a' | safe), '<'] }}", Status::unsupported, "marked safe beside a list");
  check_refused("{{ messages | map(attribute=[]) | list }}", Status::unsupported,
                "an attribute of type list");
  check_refused("{{ messages | map('select') | list }}", Status::unsupported,
                "the filter 'select' inside 'map'");
  check_refused("{{ dict([1]) }}", Status::unsupported, "a dict made of other than a dict");
  check_refused("{{ ('a' | trim)() }}", Status::unsupported, "a call of a");
  check_refused("{{ 'a' | trim()() }}", Status::unsupported, "calling the result of a filter");
  check_refused("{% set n = namespace(a=1) %}{% for x in [1] if n.a %}{% endfor %}", Status::unsupported,
                "a namespace in the condition of a for");
  check_refused("{% for a, b in [[1]] %}{% endfor %}", Status::format, "1 values for 2 variables");
  check_refused("{{ 'abc'[::0] }}", Status::format, "a slice's step is zero");
  check_refused("{{ messages[0][1:] }}", Status::format, "a slice of a dict");
  check_refused("{{ x[1:] }}", Status::format, "'x' is undefined");
  check_refused("{{ '\\ud800' }}", Status::format, "an escape in a string is no character");
  check_refused("{{ '\\\xc3\xa9' }}", Status::unsupported, "a backslash before a character beyond ASCII");
  check_refused("{% for (a,) in [[1]] %}{% endfor %}", Status::unsupported, "a single variable in brackets");
  check_refused("{% for x in [1] %}{% set loop = 3 %}{% endfor %}", Status::format, "'loop' may not be set");
  check_refused("{% macro f() %}{{ kwargs }}{% endmacro %}{% set kwargs = 1 %}{{ f() }}", Status::unsupported,
                "'kwargs'");
  check_refused("{{ foo | int }}", Status::format, "'foo' is undefined");
  check_refused("{{ '\\x4' }}", Status::format, "an escape in a string is no character");
  check_refused("{{ 1 | tojson(separators='x') }}", Status::format, "two separators");
  check_refused("{{ 1 2 }}", Status::format, "a number");
  check_refused("{{ x.y }}", Status::format, "line 1: 'x' is undefined");
  check_refused("{% if 1 %}", Status::format, "'endif' is missing");
  check_refused("{{ 1", Status::format, "a tag does not end");
  check_refused("\xff", Status::format, "UTF-8");
}

TEST_CASE("Templates never read the machine's clock", "[chat]") {
  const std::string_view text =
      "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}no date{% endif %}";
  CHECK(*render(text) == "no date");
  CHECK(*render(text, {.date = "2028-02-29"}) == "29 Feb 2028");
  check_refused("{{ strftime_now('%d') }}", ml::Status::unsupported, "asks for the date");
  const auto week = render("{{ strftime_now('%U') }}", {.date = "2028-02-29"});
  REQUIRE_FALSE(week);
  CHECK(week.error().message.find("'%U' in strftime_now") != std::string::npos);
  for (const char* date : {"2027-02-29", "2027-13-01", "yesterday", "2027-01-01T25:00",
                           "2027-01-01 10:00:00Z", "2027-01-01 10"}) {
    const auto rendered = render(text, {.date = date});
    REQUIRE_FALSE(rendered);
    CHECK(rendered.error().status == ml::Status::arg);
  }
}

TEST_CASE("Variables and messages must be JSON of the right kind", "[chat]") {
  CHECK(*render("{{ a }} {{ b }}", {.variables = R"({"a": -3, "b": 9223372036854775807})"}) ==
        "-3 9223372036854775807");
  for (const char* variables : {"[]", "{", "{\"a\":1e999}", "{\"a\":99999999999999999999}", "1"}) {
    const auto rendered = render("{{ a }}", {.variables = variables});
    INFO(variables);
    REQUIRE_FALSE(rendered);
    CHECK((rendered.error().status == ml::Status::arg || rendered.error().status == ml::Status::limit));
  }
  const auto chat_template = ml::ChatTemplate::parse("{{ messages }}");
  REQUIRE(chat_template);
  CHECK(chat_template->render_json("{}").error().status == ml::Status::arg);
  CHECK(chat_template->render_json(std::string(100, '[')).error().status == ml::Status::limit);
}
