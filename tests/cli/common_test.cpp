#include "catch.hpp"
#include "common/completion.hpp"
#include "common/help.hpp"
#include "common/json_text.hpp"
#include "common/llama_options.hpp"
#include "common/number_list.hpp"
#include "common/option_table.hpp"
#include "common/progress.hpp"
#include "common/same_path.hpp"
#include "common/terminal.hpp"
#include "common/text.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace cli;

TEST_CASE("sizes and counts are short", "[cli]") {
  CHECK(human_size(0) == "0 B");
  CHECK(human_size(999) == "999 B");
  CHECK(human_size(1000) == "1.0 kB");
  CHECK(human_size(1234567) == "1.2 MB");
  CHECK(human_size(999949) == "999.9 kB");
  CHECK(human_size(999950) == "1.0 MB");
  CHECK(human_size(UINT64_MAX) == "18.4 EB");
  CHECK(human_count(512) == "512");
  CHECK(human_count(1100000) == "1.1 M");
}

TEST_CASE("JSON that tools read has no NUL byte and no key twice in an object", "[cli]") {
  const auto nul = parse_json(std::string_view("{\"a\": 1}\0x", 10));
  REQUIRE_FALSE(nul);
  CHECK(nul.error().message == "not JSON: a NUL byte");
  CHECK(nul.error().offset == 8);
  const auto lines = parse_json_lines(std::string_view("1\n{}\0\n", 6));
  REQUIRE_FALSE(lines);
  CHECK(lines.error().offset == 4);
  CHECK(parse_json(R"([{"a": {"a": [{"b": 1}, {"b": 2}], "b": 1}}, {"a": 3}])"));
  for (const char* text : {R"({"a": 1, "a": 1})", R"([{"b": {"c": 1}, "a": [{"a": 1}], "a": {}}])",
                           R"({"a": 1, "\u0061": 1})"}) {
    const auto parsed = parse_json(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().message == "JSON key \"a\" is there twice");
    CHECK(parsed.error().status == ml::Status::format);
  }
}

TEST_CASE("lists of numbers hold decimal digits and commas alone", "[cli]") {
  CHECK(parse_numbers("128") == std::vector<std::uint32_t>{128});
  CHECK(parse_numbers("0,010,4294967295") == std::vector<std::uint32_t>{0, 10, 4294967295});
  for (const char* text : {"", ",", "3,", ",3", "3,,4", "0x3", "-1", "+1", " 1", "1 ", "1.5", "4294967296"}) {
    INFO(text);
    CHECK_FALSE(parse_numbers(text));
  }
}

namespace {

// While it lives, standard output is another file.
class StandardOutputIs {
 public:
  explicit StandardOutputIs(int fd) : before_(::dup(STDOUT_FILENO)) { ::dup2(fd, STDOUT_FILENO); }
  StandardOutputIs(const StandardOutputIs&) = delete;
  ~StandardOutputIs() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

}  // namespace

TEST_CASE("standard output is known by any name of its pipe, a device by its own alone", "[cli]") {
  for (const char* name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
    CHECK(names_standard_output(name));
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const std::string pipe_name = "/proc/self/fd/" + std::to_string(ends[1]);
  CHECK_FALSE(names_standard_output(pipe_name));
  bool pipe_is_known, nothing_is_known;
  {
    const StandardOutputIs pipe(ends[1]);
    pipe_is_known = names_standard_output(pipe_name);
    nothing_is_known = names_standard_output("") || names_standard_output("/nonexistent");
  }
  CHECK(pipe_is_known);
  CHECK_FALSE(nothing_is_known);
  const int null = ::open("/dev/null", O_WRONLY);
  bool null_is_known;
  {
    const StandardOutputIs device(null);
    null_is_known = names_standard_output("/dev/null");
  }
  CHECK_FALSE(null_is_known);
  for (const int fd : {ends[0], ends[1], null}) ::close(fd);
}

TEST_CASE("decimals do not grow long", "[cli]") {
  CHECK(decimal(1.23456, 4) == "1.2346");
  CHECK(decimal(1e14, 1) == "100000000000000.0");
  CHECK(decimal(-1.5e300, 2) == "-1.50e+300");
  CHECK(decimal(std::numeric_limits<double>::infinity(), 4) == "inf");
}

TEST_CASE("a number of things", "[cli]") {
  CHECK(counted(0, "text") == "0 texts");
  CHECK(counted(1, "text") == "1 text");
  CHECK(counted(2, "text") == "2 texts");
}

TEST_CASE("a sparkline fits its columns, in blocks or in ASCII", "[cli]") {
  const std::vector<double> heights{0, 1, 2, 4, 8, 8};
  CHECK(sparkline(heights, 6, true) == " ▁▂▄██");
  CHECK(sparkline(heights, 20, true) == " ▁▂▄██");
  CHECK(sparkline(heights, 6, false) == " .-+##");
  CHECK(sparkline(heights, 3, true) == "▁▃█");
  CHECK(sparkline(heights, 1, false) == "#");
  CHECK(sparkline({}, 4, true).empty());
  CHECK(sparkline(std::vector<double>(3, 0.0), 3, false) == "   ");
  ::setenv("COLUMNS", "60", 1);
  CHECK(sparkline_columns(20, std::string(45, 'x') + "\n" + std::string(30, 'y') + "\n") == 15);
  CHECK(sparkline_columns(20, "x") == 20);
  CHECK(sparkline_columns(20, std::string(70, 'x')) == 8);
  CHECK(sparkline_columns(5, std::string(70, 'x')) == 5);
  ::unsetenv("COLUMNS");
}

TEST_CASE("options of llama.cpp are known from values and clusters", "[cli]") {
  CLI::App app("", "ml-x");
  std::string text;
  unsigned n = 0;
  bool flag = false;
  std::vector<std::string> pair;
  app.add_option("-n,--number", n);
  app.add_option("-p,--prompt", text);
  app.add_option("--kv", text);
  app.add_option("--pair", pair)->expected(2);
  app.add_flag("-f,--force", flag);
  const auto problem = [&](const std::vector<std::string>& arguments) {
    return llama_option_problem(app, arguments);
  };
  CHECK(problem({"-ngl", "99"}) ==
        "-ngl: an option of llama.cpp that ml-x does not have, see ml-from-llama(7)");
  CHECK(problem({"-n", "1", "-ctk", "q8_0"}) ==
        "-ctk: an option of llama.cpp; ml-x has --kv, see ml-from-llama(7)");
  CHECK(problem({"-cnv"}) == "-cnv: an option of llama.cpp that ml-x does not have, see ml-from-llama(7)");
  CHECK(problem({"-fp", "x", "-hf"}).starts_with("-hf: "));
  CHECK(problem({"--prompt=x", "-fa"}).starts_with("-fa: "));
  for (const std::vector<std::string>& sound : std::vector<std::vector<std::string>>{{},
                                                                                     {"-n", "8"},
                                                                                     {"-n8"},
                                                                                     {"-p", "-ngl"},
                                                                                     {"-fp", "-ngl"},
                                                                                     {"--prompt", "-ngl"},
                                                                                     {"--pair", "x", "-ngl"},
                                                                                     {"--", "-ngl"},
                                                                                     {"ngl", "-"},
                                                                                     {"-"}})
    CHECK(problem(sound).empty());
}

TEST_CASE("a table aligns its columns, whatever bytes a code point takes", "[cli]") {
  Table table({Table::Align::left, Table::Align::right, Table::Align::left});
  table.add({"name", "bytes", "note"});
  table.add({"é", "12345678"});
  table.add({"longer name", "1", "x"});
  CHECK(table.text() ==
        "name            bytes  note\n"
        "é            12345678\n"
        "longer name         1  x\n");
}

TEST_CASE("JSON is one line and always UTF-8", "[cli]") {
  nlohmann::ordered_json json;
  json["b"] = 1;
  json["a"] = "x\xff\ny";
  CHECK(json_line(json) == "{\"b\":1,\"a\":\"x\xef\xbf\xbd\\ny\"}\n");
}

TEST_CASE("JSON has no control characters", "[cli]") {
  CHECK(cli::json_line({{"a\u009b", "\x7f\u0080\u009f\u00a0\u00e9\x1b"}}) ==
        "{\"a\\u009b\":\"\\u007f\\u0080\\u009f\u00a0\u00e9\\u001b\"}\n");
  CHECK(cli::json_text(nlohmann::json("\xc2")) == "\"\uFFFD\"");
}

TEST_CASE("control characters are shown on a terminal, not sent", "[cli]") {
  const std::string text =
      "a\tb\n\x1b]0;owned\x07\x1b[2J\r\x7f\u009b1m \u00e9\u20ac\U0001F999 \xff\x9b \xe2\x82";
  const std::string shown =
      "a\tb\n\\x1b]0;owned\\x07\\x1b[2J\\x0d\\x7f\\u009b1m \u00e9\u20ac\U0001F999 \\xff\\x9b \\xe2\\x82";
  cli::TerminalText whole;
  std::string out = whole.push(text);
  CHECK(out + whole.finish() == shown);
  for (const std::size_t n : {1, 2, 3, 5}) {  // characters are cut apart
    cli::TerminalText pieces;
    out.clear();
    for (std::size_t at = 0; at < text.size(); at += n) out += pieces.push(text.substr(at, n));
    CHECK(out + pieces.finish() == shown);
  }
}

TEST_CASE("a progress line fits the terminal", "[cli]") {
  CHECK(progress_line("packing", 250, 1000, 5, 60, false, human_count) ==
        "packing [######....................]  25 %  50/s  0:15 left");
  CHECK(progress_line("packing", 250, 1000, 5, 12, false, human_count) == " 25 %");
  // What an earlier run did is part of the bar, not of the rate.
  CHECK(progress_line("packing", 250, 1000, 5, 60, false, human_count, 200)
            .ends_with("  25 %  10/s  1:15 left"));
  CHECK(progress_line("packing", 2500, 0, 5, 60, false, human_size) == "packing  2.5 kB  500 B/s");
  CHECK(progress_line("p", 0, 10, 5, 40, false, human_count) == "p [.............]   0 %  0/s  -:-- left");
  CHECK(progress_line("p", 1, 16, 1, 31, true, human_count) == "p [▎   ]   6 %  1/s  0:15 left");
  for (const bool unicode : {false, true}) {
    for (std::size_t columns = 8; columns < 100; ++columns) {
      for (std::uint64_t done = 0; done <= 1000; done += 50) {
        const std::string line = progress_line("packing", done, 1000, 1e4, columns, unicode, human_size);
        CHECK(display_width(line) < columns);
      }
    }
  }
}

namespace {

struct Options {
  std::vector<std::string> files, stops;
  std::string type, mode, output;
  int count = 0;
  bool flag = false;
};

void add(CLI::App& app, Options& options) {
  app.add_option("FILE", options.files, "Inputs")->required();
  app.add_option("-o,--output", options.output, "Where to")->type_name("OUT.mlb");
  app.add_option("--type", options.type, "Encoding: one of [a], it's \"that\"")
      ->check(CLI::IsMember({"q8_0", "q4_0"}));
  app.add_option("--mode", options.mode, "Mode")
      ->transform(CLI::CheckedTransformer(std::map<std::string, std::string>{{"slow", "0"}, {"fast", "1"}}));
  app.add_option("-n", options.count, "How many. Never negative");
  app.add_option("--stop", options.stops, "Text")->group("Sampling");
  app.add_flag("--flag", options.flag,
               "A flag with words enough to need two lines in any help text of 80 columns");
  app.add_flag("--hidden", options.flag, "Not shown")->group("");
}

}  // namespace

TEST_CASE("the option table knows arguments, fixed sets and files", "[cli]") {
  CLI::App app;
  Options options;
  app.set_help_flag("-h,--help", "Help")->group(kCommonGroup);
  add(app, options);
  const std::vector<OptionRow> rows = option_table(app);
  REQUIRE(rows.size() == 8);
  CHECK(rows[0].operand);
  CHECK(rows[0].required);
  CHECK(rows[0].many);
  CHECK(rows[1].argument == "OUT.mlb");
  REQUIRE(rows[1].values.size() == 1);
  CHECK(rows[1].values[0].files);
  CHECK(rows[2].values.at(0).names == std::vector<std::string>{"q8_0", "q4_0"});
  CHECK(rows[2].argument == "q8_0|q4_0");
  CHECK(rows[3].values.at(0).names == std::vector<std::string>{"fast", "slow"});
  CHECK(rows[4].argument == "N");
  CHECK_FALSE(rows[4].values.at(0).files);
  CHECK(rows[5].many);
  CHECK(rows[6].argument.empty());
  CHECK(rows[6].values.empty());
  CHECK(rows[7].long_names == std::vector<std::string>{"help"});
}

TEST_CASE("help is within 80 columns and ends with the example", "[cli]") {
  CLI::App app;
  Options options;
  add(app, options);
  const std::string text = help_text("ml-x", "Does something.", "ml-x --type q8_0 file", option_table(app));
  CHECK(text.starts_with("Usage: ml-x [OPTION]... FILE...\nDoes something.\n\nOperands:\n  FILE     "));
  CHECK(text.ends_with("\nExample:\n  ml-x --type q8_0 file\n"));
  CHECK(text.find("\n  -o, --output OUT.mlb") != std::string::npos);
  CHECK(text.find("\n  -n N ") != std::string::npos);
  CHECK(text.find("\nSampling:\n      --stop TEXT") != std::string::npos);
  CHECK(text.find("hidden") == std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() < 80);
}

TEST_CASE("a type name carries what its values may be", "[cli]") {
  CLI::App app;
  app.set_help_flag();
  std::vector<std::string> both;
  std::string classes;
  app.add_option("--both", both, "A file and a list")
      ->type_name(
          type_of("FILE ITEM[,ITEM...]", std::vector{files_with({".json", ".x"}), list_of({"a", "b"}, ",+")}))
      ->expected(2);
  app.add_option("--rule", classes, "A rule")->type_name(type_of("GLOB=NAME", pattern_with({"c"})));
  const std::vector<OptionRow> rows = option_table(app);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].argument == "FILE ITEM[,ITEM...]");
  REQUIRE(rows[0].values.size() == 2);
  CHECK(rows[0].values[0].files);
  CHECK(rows[0].values[0].suffixes == std::vector<std::string>{".json", ".x"});
  CHECK(rows[0].values[0].names.empty());
  CHECK(rows[0].values[1].names == std::vector<std::string>{"a", "b"});
  CHECK(rows[0].values[1].separators == ",+");
  CHECK_FALSE(rows[0].values[1].files);
  CHECK_FALSE(rows[0].values[1].one_name());
  CHECK(rows[1].values.at(0).after_separator);
  CHECK(usual_values("MODEL").suffixes.size() == 3);
  CHECK(usual_values("OUT.mlb").suffixes.empty());
  CHECK_FALSE(usual_values("TEXT").files);
}

TEST_CASE("completion scripts quote what descriptions hold", "[cli]") {
  CLI::App app;
  Options options;
  add(app, options);
  const auto rows = option_table(app);
  const std::string bash = completion_script("bash", "ml-x", rows);
  CHECK(bash.find("--type:0) _ml_x_names '' q8_0 q4_0 ;;") != std::string::npos);
  CHECK(bash.find("--output:0) _ml_x_files  ;;") != std::string::npos);
  CHECK(bash.find("complete -F _ml_x ml-x\n") != std::string::npos);
  const std::string zsh = completion_script("zsh", "ml-x", rows);
  CHECK(zsh.starts_with("#compdef ml-x\n"));
  CHECK(zsh.find("'(--type)--type=[Encoding\\: one of \\[a\\], it'\\''s \"that\"]:q8_0|q4_0:(q8_0 q4_0)'") !=
        std::string::npos);
  CHECK(zsh.find("'(-n)-n+[How many]:N: '") != std::string::npos);
  CHECK(zsh.find("'*--stop=[Text]:TEXT: '") != std::string::npos);
  const std::string fish = completion_script("fish", "ml-x", rows);
  CHECK(fish.find("complete -c ml-x -l type -x -a 'q8_0 q4_0' -d 'Encoding: one of [a], it\\'s \"that\"'") !=
        std::string::npos);
  CHECK(fish.find("complete -c ml-x -s o -l output -r -F -d 'Where to'") != std::string::npos);
}

TEST_CASE("a flag may say what operands are behind it", "[cli]") {
  CLI::App app;
  std::string model;
  bool flag = false;
  app.add_option("MODEL", model, "A model");
  app.add_flag("-j,--join", flag, "Join results")->type_name(cli::operands_are(cli::files_with({".json"})));
  const auto rows = option_table(app);
  for (const OptionRow& row : rows) CHECK(row.operands.has_value() == (row.description == "Join results"));
  CHECK(rows.back().values.empty());
  CHECK(rows.back().argument.empty());
  REQUIRE(rows.back().operands.has_value());
  CHECK(rows.back().operands->suffixes == std::vector<std::string>{".json"});
  const std::string bash = completion_script("bash", "ml-x", rows);
  CHECK(bash.find("-j | --join) instead=--join ;;") != std::string::npos);
  CHECK(bash.find("--join:*) _ml_x_files .json ;;\n      *:*) _ml_x_files .mlb") != std::string::npos);
  const std::string zsh = completion_script("zsh", "ml-x", rows);
  CHECK(zsh.find("if (( $+opt_args[-j] )) { _files -g \"*.json\" } else") != std::string::npos);
  const std::string fish = completion_script("fish", "ml-x", rows);
  CHECK(fish.find("'__ml_x_is instead --join' -x -a '(__ml_x_files .json)'") != std::string::npos);
}

TEST_CASE("a terminal that does not tell its width has that of COLUMNS", "[cli]") {
  for (const auto& [given, columns] : std::map<std::string, std::size_t>{
           {"132", 132}, {"", 80}, {"7", 80}, {"wide", 80}, {"100x", 80}, {"99999", 80}}) {
    INFO(given);
    ::setenv("COLUMNS", given.c_str(), 1);
    CHECK(terminal_columns(-1) == columns);
  }
  ::unsetenv("COLUMNS");
  CHECK(terminal_columns(-1) == 80);
}
