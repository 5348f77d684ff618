#include "common/tool.hpp"

#include "common/completion.hpp"
#include "common/help.hpp"
#include "common/llama_options.hpp"
#include "common/process.hpp"
#include "common/progress.hpp"
#include "common/same_path.hpp"
#include "common/text.hpp"

#include <ml/version.hpp>

#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <new>
#include <system_error>

namespace cli {

namespace {

constexpr std::size_t kFlushBytes = std::size_t(1) << 16;
constexpr unsigned kMaxThreads = 4096;
constexpr char kBracketMark = '\x1f';

// Thrown through CLI11's parser, because --completion must not ask for required operands.
struct CompletionAsked {
  std::string shell;
};

// Is an argument "--name=", whose option takes a value?
bool has_empty_value(const CLI::App& app, std::string_view argument) {
  if (!argument.starts_with("--") || argument.size() < 4 || argument.find('=') != argument.size() - 1)
    return false;
  const CLI::Option* option = app.get_option_no_throw(std::string(argument.substr(0, argument.size() - 1)));
  return option != nullptr && option->get_items_expected_max() > 0;
}

// The arguments as CLI11 understands them, the last one first. It takes an operand "[a,b]" for a list; the
// mark keeps it whole and comes off before the value is used. Of "--name=" it would forget that the value is
// empty and take the next argument for it.
std::vector<std::string> marked_arguments(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> arguments;
  bool operands_only = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    operands_only = operands_only || argument == "--";
    if (!operands_only && has_empty_value(app, argument)) {
      argument.pop_back();
      arguments.push_back(std::move(argument));
      argument.clear();
    }
    if ((argument.starts_with('[') && argument.ends_with(']')) || argument.starts_with(kBracketMark))
      argument.insert(0, 1, kBracketMark);
    arguments.push_back(std::move(argument));
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

std::string without_mark(std::string value) {
  if (value.starts_with(kBracketMark)) value.erase(0, 1);
  return value;
}

bool all_digits(const std::string& value) {
  return !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
}

struct WholeNumber {
  std::uint64_t low = 0;
  std::uint64_t high = std::numeric_limits<std::uint64_t>::max();
  std::function<std::uint64_t()> minus_one = {};

  // What is wrong with a value; without a fault it is written as CLI11 understands it, which would take 010
  // for octal and wrap a sign around.
  std::string operator()(std::string& value) const {
    if (minus_one && value == "-1") {
      value = fmt::format("{}", minus_one());
      return "";
    }
    const std::string range = fmt::format("from {} to {}{}", low, high, minus_one ? ", or -1" : "");
    if (!all_digits(value.starts_with('-') ? value.substr(1) : value))
      return fmt::format("is '{}', must be a whole number {}", value, range);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || number < low || number > high)
      return fmt::format("is {}, must be {}", value, range);
    value = fmt::format("{}", number);
    return "";
  }
};

// CLI::Range tells its bounds in the type's text alone: "UINT:UINT in [1 - 1024]".
WholeNumber whole_number_of(const std::string& type) {
  WholeNumber rule;
  constexpr std::string_view kIn = " in [";
  if (const std::size_t in = type.rfind(kIn); in != std::string::npos) {
    const char* end = type.data() + type.size();
    const auto low = std::from_chars(type.data() + in + kIn.size(), end, rule.low);
    std::from_chars(std::min(low.ptr + 3, end), end, rule.high);
  }
  return rule;
}

std::string not_empty(const std::string& value) { return value.empty() ? "is empty" : ""; }

// "--kv is 'bf16', must be one of f16, f32, q8" for an option with a fixed set of values; "" for others.
std::string choice_message(const CLI::App& app, const std::string& error_text) {
  const std::string name = error_text.substr(0, error_text.find(':'));
  for (const OptionRow& row : option_table(app)) {
    const bool named = std::any_of(row.long_names.begin(), row.long_names.end(),
                                   [&](const std::string& known) { return "--" + known == name; });
    if (!named || row.values.empty() || !row.values.front().one_name()) continue;
    const auto& values = app.get_option(name)->results();
    return fmt::format("{} is '{}', must be one of {}", name,
                       values.empty() ? "" : without_mark(values.back()),
                       fmt::join(row.values.front().names, ", "));
  }
  return {};
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  for (const std::string& left : app.remaining()) {
    if (left.size() > 1 && left.starts_with('-')) return fmt::format("{}: unknown option", left);
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::vector<std::string> left = app.remaining();
    const CLI::Option* output = app.get_option_no_throw("--output");
    const bool names_output = output != nullptr && output->check_sname("o") && output->count() == 0 &&
                              usual_values(output->get_type_name()).files;
    return fmt::format("{}: unexpected operand{}", left.empty() ? "" : without_mark(left.front()),
                       names_output ? "; -o names the output" : "");
  }
  std::string text = error.what();
  if (error.get_name() == "ValidationError") {
    if (std::string message = choice_message(app, text); !message.empty()) return message;
    if (const std::size_t colon = text.find(": is "); colon == text.find(':')) text.erase(colon, 1);
  }
  text.erase(std::remove(text.begin(), text.end(), kBracketMark), text.end());
  // CLI11's words for a wrong and a missing value: "Could not convert: --size = x" and
  // "--size: 1 required UINT missing".
  constexpr std::string_view kRequired = " required ";
  constexpr std::string_view kConvert = "Could not convert: ";
  if (const std::size_t equals = text.find(" = ");
      text.starts_with(kConvert) && equals != std::string::npos) {
    return fmt::format("{} is '{}', must be a number", text.substr(kConvert.size(), equals - kConvert.size()),
                       text.substr(equals + 3));
  }
  // A type may hold control characters, and with a NUL the text ends there.
  const std::size_t colon = text.find(": ");
  const std::size_t count = text.find_first_not_of("0123456789", std::min(colon, text.size() - 2) + 2);
  if (colon != text.npos && count > colon + 2 && text.compare(count, kRequired.size(), kRequired) == 0)
    return text.substr(0, colon) + ": a value is missing";
  return text;
}

}  // namespace

Tool::Tool(std::string name, std::string summary, std::string example)
    : name_(std::move(name)),
      summary_(std::move(summary)),
      example_(std::move(example)),
      app_(std::make_unique<CLI::App>(summary_, name_)) {
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_target();
  app_->set_help_flag("-h,--help", "Print this text and exit")->group(kCommonGroup);
  app_->set_version_flag("--version", std::string(), "Print the versions and the CPU target in use, and exit")
      ->group(kCommonGroup);
  app_->add_flag("-q,--quiet", quiet_, "No notes and no progress on standard error")->group(kCommonGroup);
  app_->add_option_function<std::string>("--completion",
                                         [](const std::string& shell) { throw CompletionAsked{shell}; })
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->group("");
}

Tool::~Tool() = default;

void Tool::add_threads() {
  app_->add_option("-t,--threads", threads_, "Threads to use; default: all cores this process may run on")
      ->check(CLI::Range(0u, kMaxThreads))
      ->group(kCommonGroup);
}

void Tool::add_target() {
  std::string names;
  for (const ml::Target target : ml::built_targets()) {
    names += (names.empty() ? "{" : ",") + std::string(ml::target_name(target));
  }
  app_->add_option("--target", target_name_, "Instruction set to use; default: ML_TARGET, then the fastest")
      ->type_name(names + "}")
      ->group(kCommonGroup);
}

void Tool::allow_targets() {
  target_list_ = true;
  CLI::Option* option = app_->get_option("--target");
  option->type_name(option->get_type_name() + "[,...]");
}

void Tool::allow_minus_one(const std::string& option, std::function<std::uint64_t()> value) {
  minus_ones_.push_back({option, std::move(value)});
}

void Tool::add_force() {
  app_->add_flag("-f,--force", force_, "Replace an existing output file")->group(kCommonGroup);
}

void Tool::add_output() {
  app_->add_option("-o,--output", output_, "Where the answer goes; default: standard output")
      ->type_name("FILE");
  add_force();
}

void Tool::add_verbose() {
  app_->add_flag("-v,--verbose", verbose_, "Say on standard error what is decided, and why")
      ->group(kCommonGroup);
}

bool Tool::parse(int argc, char** argv) {
  for (CLI::Option* option : app_->get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    const std::string type = option->get_type_name();
    if (type.starts_with("UINT")) {
      WholeNumber rule = whole_number_of(type);
      for (const MinusOne& row : minus_ones_) {
        if (option == app_->get_option(row.option)) rule.minus_one = row.value;
      }
      option->transform(CLI::Validator(rule, ""));
    }
    option->transform(without_mark);
    if (type != "TEXT") option->check(not_empty);
    // `--stop A B` gives the option one value; B is an operand.
    if (option->nonpositional()) option->allow_extra_args(false);
  }
  if (knows_llama_) {
    if (const std::string problem = llama_option_problem(*app_, {argv + 1, argv + argc}); !problem.empty()) {
      message(problem);
      status_ = 2;
      return false;
    }
  }
  try {
    app_->parse(marked_arguments(*app_, argc, argv));
  } catch (const CLI::CallForHelp&) {
    print(help_text(name_, summary_, example_, option_table(*app_)));
    return false;
  } catch (const CLI::CallForVersion&) {
    print_version();
    return false;
  } catch (const CompletionAsked& asked) {
    print(completion_script(asked.shell, name_, option_table(*app_)));
    return false;
  } catch (const CLI::ParseError& error) {
    fail_usage(usage_message(*app_, error));
    return false;
  }
  return take_target();
}

bool Tool::take_target() {
  std::string_view left = target_name_;
  targets_.clear();
  for (;;) {
    const std::size_t comma = target_list_ ? std::min(left.find(','), left.size()) : left.size();
    if (!take_target(std::string(left.substr(0, comma)))) return false;
    if (comma == left.size()) break;
    left.remove_prefix(comma + 1);
  }
  target_ = targets_.front();
  return true;
}

bool Tool::take_target(const std::string& name) {
  const auto target = ml::resolve_target(name);
  if (target) {
    targets_.push_back(*target);
    return true;
  }
  if (target.error().status == ml::Status::arg && !name.empty()) {
    fail_usage("--target: " + target.error().message);
  } else {
    fail(target.error());
  }
  return false;
}

void Tool::print_version() {
  // The parser stops at --version, so the option has its text but not yet the variable.
  if (const CLI::Option* option = app_->get_option("--target"); option->count() > 0) {
    target_name_ = option->results().back();
  }
  if (!take_target()) return;
  print("{} (mlutils) {}, libml {}, target {}\n", name_, ML_VERSION, ml::version(), ml::target_name(target_));
}

int Tool::main(int argc, char** argv, const std::function<void()>& body) {
  guard_standard_streams();
  install_signal_handlers(name_);
  if (::isatty(STDOUT_FILENO) != 0) terminal_text_.emplace();
  try {
    if (parse(argc, argv)) {
      detail_machine();
      body();
    }
  } catch (const std::bad_alloc&) {
    fail({.status = ml::Status::nomem, .message = "memory could not be allocated"});
  } catch (const std::exception& error) {
    fail({.status = ml::Status::unsupported, .message = error.what()});
  }
  flush();
  if (terminal_text_) write_out(terminal_text_->finish());
  finish_output();
  return status_;
}

void Tool::print(std::string_view text) {
  out_ += text;
  if (out_.size() >= kFlushBytes) flush();
}

bool Tool::open_output(const std::vector<std::string>& inputs, bool keep) {
  if (output_.empty() || names_standard_output(output_)) return true;
  auto file = ml::OutputFile::create(output_, {.force = force_, .binary = false, .inputs = inputs});
  auto opened = file ? file->become_standard_output() : ml::Result<void>(file.error());
  if (!opened) {
    fail(opened.error());
    return false;
  }
  output_file_.emplace(std::move(*file));
  keep_output_ = keep;
  if (::isatty(STDOUT_FILENO) == 0) terminal_text_.reset();
  return true;
}

void Tool::finish_output() {
  const bool kept = status_ == 0 || (keep_output_ && status_ == 1 && any_out_);
  if (!output_file_ || out_failed_ || !kept) return;
  if (const auto done = output_file_->commit(); !done) fail(done.error());
}

void Tool::flush() {
  write_out(terminal_text_ ? terminal_text_->push(out_) : out_);
  out_.clear();
}

void Tool::write_out(std::string_view text) {
  any_out_ = any_out_ || !text.empty();
  const int error = out_failed_ ? 0 : write_fully(STDOUT_FILENO, text);
  if (error == 0) return;
  out_failed_ = true;
  fail({.status = ml::Status::io,
        .message = "cannot write",
        .path = output_file_ ? output_ : "standard output",
        .os_errno = error});
}

void Tool::fail(const ml::Error& error) {
  message(ml::describe(error));
  status_ = std::max(status_, 1);
}

void Tool::fail_usage(std::string_view message_text) {
  message(fmt::format("{}; see {} --help", message_text, name_));
  status_ = 2;
}

void Tool::note(std::string_view message_text) {
  if (!quiet_) message(message_text);
}

void Tool::warn(std::string_view message_text) { message(message_text); }

void Tool::detail(std::string_view message_text) {
  if (verbose_ && !quiet_) message(message_text);
}

// Where the common options do not say it, what they stand for.
void Tool::detail_machine() {
  if (!verbose_) return;
  const char* variable = std::getenv("ML_TARGET");
  const bool from_variable = variable != nullptr && *variable != '\0';
  for (const ml::Target target : targets_) {
    detail("target {}: {}", ml::target_name(target),
           !target_name_.empty() ? "as --target says"
           : from_variable       ? "as ML_TARGET says"
                                 : "the fastest that this machine runs");
  }
  if (app_->get_option_no_throw("--threads") == nullptr || target_list_) return;
  detail("threads {}: {}", threads_ == 0 ? ml::available_threads() : threads_,
         threads_ == 0 ? "all cores that this process may run on" : "as --threads says");
}

void Tool::print_beside(std::string_view text) {
  clear_progress();
  write_fully(STDERR_FILENO, text);
}

void Tool::message(std::string_view text) {
  // One line, whatever a file name or a tensor name holds.
  print_beside(std::string_view(fmt::format("{}: {}\n", name_, ml::printable(text))));
}

bool Tool::progress_wanted() const { return !quiet_ && ::isatty(STDERR_FILENO) != 0; }

}  // namespace cli
