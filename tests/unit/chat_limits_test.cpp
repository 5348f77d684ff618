// Hostile templates: none may run long, take much memory or end the program.

#include "catch.hpp"
#include "data.hpp"

#include <ml/chat.hpp>

#include <random>
#include <string>

namespace {

ml::Result<std::string> render(std::string_view text) {
  const auto chat_template = ml::ChatTemplate::parse(text);
  if (!chat_template) return chat_template.error();
  return chat_template->render_json(
      R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": ["a", {"b": null}]}])",
      {.special_tokens = {{"bos_token", "<s>"}}, .date = "2026-11-29"});
}

std::string times(std::size_t n, std::string_view part) {
  std::string all;
  for (std::size_t i = 0; i < n; ++i) all += part;
  return all;
}

std::string printed(std::string_view expression) {
  std::string text = "{{ ";
  text += expression;
  text += " }}";
  return text;
}

}  // namespace

TEST_CASE("Templates have limits", "[chat]") {
  const std::string text = GENERATE(
      as<std::string>{}, "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "{% set ns = namespace(s='aaaaaaaaaaaaaaaa') %}{% for a in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% "
      "endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for a in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for a in range(999) %}{% set ns.s = [ns.s] %}{% endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for a in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ "
      "ns.s }}",
      "{% set ns = namespace(s=[1]) %}{% for a in range(999) %}{% for b in ns.s %}{% set ns.s = [loop] %}{% "
      "endfor %}{% endfor %}",
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{% macro f(n) %}{{ f(n + 1) }}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "{{ range(100001) | list }}",
      "{{ 'a' * 999999999999 }}", "{{ [1] * 999999999999 }}",
      "{{ ('a' * 9999999).replace('a', 'b' * 9999999) }}", "{{ ('a' * 9999999).replace('', 'b' * 9999999) }}",
      "{{ ('b' * 999999) | join('a' * 999999) }}", "{{ 9223372036854775807 + 1 }}",
      "{{ 9223372036854775808 }}", "{{ {'a': 1} | tojson(indent=999999999) }}",
      "{{ 1 | tojson(separators=('a' * 999, ':')) }}", "{{ (['a' * 999999] * 999) | tojson }}",
      "{{ -9223372036854775807 - 2 }}");
  INFO(text);
  const auto rendered = render(text);
  REQUIRE_FALSE(rendered);
  INFO(rendered.error().message);
  CHECK(rendered.error().status == ml::Status::limit);
}

TEST_CASE("Work on long texts counts as many steps", "[chat]") {
  const std::string expression = GENERATE(
      as<std::string>{}, "x < y", "x <= y", "x > y", "x >= y", "x is lt y", "x == y", "x != y", "x in [y]",
      "x in d", "x not in d", "d[x]", "d[y]", "d.get(x)", "{x: 1}", "dict(d)", "ns[x]", "none[x]",
      "d == {'b': 1}", "[d] == [{'b': 1}]", "d in [{'b': 1}]", "x.startswith(y)", "x.endswith(y)",
      "'a'.startswith(y)", "'a'.strip(x)", "'a'.lstrip(chars=x)", "'a' | trim(x)", "'a'.split(x)",
      "'a'.rsplit(x)", "'a'.rsplit(sep=x)", "'a'.replace(x, '')", "(x | length) + 0", "y in x", "blank | int",
      "blank.strip()", "[d] | map(attribute=x) | list", "[d] | selectattr(x) | list", "[d] | join(',', x)",
      "[x] | select('lt', y) | list", "x[0]", "x[:1]", "x | string");
  INFO(expression);
  const auto rendered = render(
      "{% set x = 'a' * 2000000 %}{% set y = 'a' * 1999999 ~ 'b' %}{% set blank = ' ' * 2000000 %}"
      "{% set d = {x: 1} %}{% set ns = namespace(d) %}{% for i in range(2000) %}{% if " +
      expression + " %}{% endif %}{% endfor %}");
  REQUIRE_FALSE(rendered);
  INFO(rendered.error().message);
  CHECK(rendered.error().status == ml::Status::limit);
}

TEST_CASE("Work on many names and parts counts as many steps", "[chat]") {
  const auto listed = [](std::size_t n, std::string_view before, std::string_view after) {
    std::string all;
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) all += ", ";
      all += before;
      all += std::to_string(i);
      all += after;
    }
    return all;
  };
  const std::string text = GENERATE_COPY(
      as<std::string>{}, "{% set x = 'a' * 2000000 %}{{ x.startswith(('a' * 1999999 ~ 'b',) * 1000) }}",
      "{% set x = 'a' * 2000000 %}{{ x.endswith(('b' ~ 'a' * 1999999,) * 1000) }}",
      "{% set d = {'a' * 2000000: 1} %}{% for i in range(100) %}{% set ns = namespace(d) %}{% endfor %}",
      "{{ (',' * 20000000).split(',') | length }}", "{{ (', ' * 10000000).split() | length }}",
      "{{ (',' * 20000000).rsplit(',', 9999999) | length }}",
      "{% macro f(" + listed(2000, "a", "") +
          ") %}{% endmacro %}{% for i in range(10000) %}{{ f() }}{% endfor %}",
      "{% macro f(" + listed(2000, "a", "=1") + ") %}{% endmacro %}{% for i in range(100) %}{{ f(" +
          listed(2000, "a", "=1") + ") }}{% endfor %}",
      "{% for " + listed(2000, "a", "") + " in [range(2000)] * 10000 %}{% endfor %}",
      times(40, "{% generation %}") + "{% for i in range(100000) %}" + times(20, "{{ a }}") + "{% endfor %}" +
          times(40, "{% endgeneration %}"),
      printed(times(256, "a")), printed("a." + times(256, "b")));
  INFO(text.substr(0, 100));
  const auto rendered = render(text);
  REQUIRE_FALSE(rendered);
  INFO(rendered.error().message);
  CHECK(rendered.error().status == ml::Status::limit);
}

TEST_CASE("Templates nest only so deep", "[chat]") {
  for (const auto& [open, middle, close] :
       std::initializer_list<std::tuple<const char*, const char*, const char*>>{{"(", "1", ")"},
                                                                                {"[", "1", "]"},
                                                                                {"{'a':", "1", "}"},
                                                                                {"f(", "1", ")"},
                                                                                {"a[", "1", "]"},
                                                                                {"not ", "1", ""},
                                                                                {"- ", "1", ""},
                                                                                {"1 + ", "1", ""},
                                                                                {"", "1", " | list"},
                                                                                {"", "a", ".a"},
                                                                                {"", "1", " is defined"},
                                                                                {"1 if 1 else ", "1", ""}}) {
    const auto rendered = render(printed(times(100'000, open) + middle + times(100'000, close)));
    INFO(open << middle << close);
    REQUIRE_FALSE(rendered);
    CHECK(rendered.error().status == ml::Status::limit);
  }
  CHECK(render(times(1000, "{% if 1 %}") + times(1000, "{% endif %}")).error().status == ml::Status::limit);
  CHECK(render(times(40, "{% if 1 %}") + "a" + times(40, "{% endif %}")));
  CHECK(*render(printed(times(40, "(") + "1" + times(40, ")") + times(80, " + 1"))) == "81");
}

TEST_CASE("Searching is linear in the text", "[chat]") {
  // By a plain search these would take 10^11 steps.
  CHECK(*render("{{ ('a' * 500000 + 'b') in 'a' * 999999 }}") == "False");
  CHECK(*render("{{ ('a' * 999999).replace('a' * 500000 + 'b', '') | length }}") == "999999");
}

TEST_CASE("Mutated templates give text or an error", "[chat]") {
  std::mt19937 random(20261129);
  std::string pieces;
  for (const char* name : {"chatml", "gemma3", "llama2", "llama3.2", "mistral-nemo", "qwen3.5", "smollm3"}) {
    pieces += read_file(data_path("chat/" + std::string(name) + ".jinja"));
  }
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (const char* name : {"chatml", "gemma3", "llama2", "llama3.2", "mistral-nemo", "qwen3.5", "smollm3"}) {
    const std::string whole = read_file(data_path("chat/" + std::string(name) + ".jinja"));
    for (int round = 0; round < 150; ++round) {
      std::string text = whole;
      for (std::size_t change = 0; change <= below(3); ++change) {
        const std::size_t at = below(text.size());
        switch (below(4)) {
          case 0: text[at] = static_cast<char>(random()); break;
          case 1: text.erase(at, below(30)); break;
          case 2: text.insert(at, text.substr(below(text.size()), below(60))); break;
          default: text.replace(at, below(9), pieces, below(pieces.size()), below(40)); break;
        }
        if (text.empty()) text.push_back(whole.front());
      }
      const auto rendered = render(text);
      CHECK((rendered || !rendered.error().message.empty() || rendered.error().status == ml::Status::format));
    }
  }
}
