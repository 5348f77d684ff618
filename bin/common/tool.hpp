#pragma once

#include "common/terminal.hpp"
#include "common/values.hpp"

#include <ml/output.hpp>
#include <ml/status.hpp>
#include <ml/target.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;  // CLI/CLI.hpp takes seconds to compile: files that add options include it
}

namespace cli {

/// One command-line program: its option table and the manners that all tools share (exit status, messages,
/// --help, --version, --completion, checked standard output).
class Tool {
 public:
  /// @param name     "mlb-info"
  /// @param summary  one line for --help
  /// @param example  a whole command, the last line of --help
  Tool(std::string name, std::string summary, std::string example);
  ~Tool();

  /// The option table. Add operands and options to it before main().
  CLI::App& app() { return *app_; }
  /// Adds -t/--threads; threads() is 0 (all cores) when it is not given.
  void add_threads();
  /// Lets --target take a list; the option has been added for all tools.
  void allow_targets();
  /// Adds -f/--force.
  void add_force();
  /// Adds -o/--output, the file that the answer goes to, and -f; the body calls open_output() before it
  /// prints.
  void add_output();
  /// Lets -1 be a value of an option with a whole number, too: what `value` returns when it is met.
  void allow_minus_one(const std::string& option, std::function<std::uint64_t()> value);
  /// Lets options of llama.cpp's tools be refused as such, where they would be read as others: -ngl as -n gl.
  void know_llama_options() { knows_llama_ = true; }
  /// Adds -v/--verbose, for detail().
  void add_verbose();

  unsigned threads() const { return threads_; }
  /// Of --target, which every tool has (default: ML_TARGET, then the fastest).
  ml::Target target() const { return target_; }
  /// All of --target, where allow_targets() was called.
  const std::vector<ml::Target>& targets() const { return targets_; }
  bool force() const { return force_; }
  bool quiet() const { return quiet_; }

  /// Parses the arguments and runs the body.
  /// @return the exit status: 0 done, 1 after any fail() or when standard output could not be written, 2
  /// usage
  int main(int argc, char** argv, const std::function<void()>& body);

  /// Appends to standard output (buffered). The answer only. On a terminal, and only there, control
  /// characters in it are shown, not sent.
  void print(std::string_view text);
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    print(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
  }
  /// Makes the file of add_output() what standard output writes to. It appears when the tool ends well.
  ///
  /// @param inputs  files that it must not replace
  /// @param keep    it also appears with exit status 1 where something was printed: the rest of the answer is
  /// one
  /// @return        false after a failure, of which the user has been told
  bool open_output(const std::vector<std::string>& inputs, bool keep);
  /// Of -o; empty: standard output itself.
  const std::string& output() const { return output_; }
  void set_output(std::string path) { output_ = std::move(path); }
  /// Hands what was printed to the reader now; for streams that people watch.
  void flush();
  /// Text on standard error as it is: what was asked for beside the answer. As with messages it is no failure
  /// when it cannot be written.
  void print_beside(std::string_view text);
  template <class... Args>
  void print_beside(fmt::format_string<Args...> format, Args&&... args) {
    print_beside(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
  }

  /// One line on stderr, "mlb-info: model.mlb: ...", and exit status 1 at the end. The body goes on or
  /// returns.
  void fail(const ml::Error& error);
  /// A usage error that only the body can see: one line on stderr, exit status 2. The body must return after
  /// it.
  void fail_usage(std::string_view message);
  /// One line on stderr unless --quiet: what was decided, what is odd.
  void note(std::string_view message);
  /// One line on stderr, also with --quiet: what the answer does not say although it was asked for.
  void warn(std::string_view message);

  /// One line on stderr with --verbose: what was decided, and why.
  void detail(std::string_view message);
  template <class... Args>
  void detail(fmt::format_string<Args...> format, Args&&... args) {
    if (verbose_) detail(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
  }

  /// True where standard error is a terminal and progress should be drawn.
  bool progress_wanted() const;

 private:
  void add_target();
  bool parse(int argc, char** argv);
  bool take_target();
  bool take_target(const std::string& name);
  void print_version();
  void detail_machine();
  void message(std::string_view text);
  void write_out(std::string_view text);
  void finish_output();

  struct MinusOne {
    std::string option;
    std::function<std::uint64_t()> value;
  };

  std::string name_;
  std::string summary_;
  std::string example_;
  const std::unique_ptr<CLI::App> app_;
  std::string out_;
  std::optional<TerminalText> terminal_text_;  // where standard output is a terminal
  bool out_failed_ = false;
  bool any_out_ = false;  // something was printed
  std::string output_;
  std::optional<ml::OutputFile> output_file_;  // where it is not standard output itself
  bool keep_output_ = false;
  std::string target_name_;
  unsigned threads_ = 0;
  ml::Target target_ = ml::Target::best;
  std::vector<ml::Target> targets_;
  std::vector<MinusOne> minus_ones_;
  bool target_list_ = false;
  bool knows_llama_ = false;
  bool force_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
  int status_ = 0;
};

}  // namespace cli
