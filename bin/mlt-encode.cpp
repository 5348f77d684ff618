// Text to token ids and back.

#include "common/ordered_work.hpp"
#include "common/progress.hpp"
#include "common/terminal.hpp"
#include "mlt_encode/transcode.hpp"

#include <ml/input.hpp>
#include <ml/inspect.hpp>
#include <ml/output.hpp>

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>

namespace {

using mlt_encode::Options;
using mlt_encode::Outcome;

constexpr std::size_t kPart = std::size_t(1) << 18;  // bytes of lines that a thread works on at a time

/// One run over all inputs.
class Run {
 public:
  Run(cli::Tool& tool, const Options& options) : tool_(tool), options_(options) {}

  void run() {
    const auto tokenizer = ml::Tokenizer::open(options_.tokenizer);
    if (!tokenizer) return tool_.fail(ml::with_path(tokenizer.error(), options_.tokenizer));
    if (options_.bos && !tokenizer->bos()) {
      return tool_.fail(
          {.status = ml::Status::arg, .message = "has no BOS for --bos", .path = options_.tokenizer});
    }
    std::vector<std::string> inputs = options_.files;
    for (std::string& file : ml::input_files(options_.tokenizer)) inputs.push_back(std::move(file));
    auto file = ml::OutputFile::create(options_.output,
                                       {.force = tool_.force(),
                                        .binary = options_.raw() && !options_.decode && !options_.count,
                                        .inputs = inputs});
    if (!file) return tool_.fail(file.error());
    output_.emplace(std::move(*file));

    transcode(mlt_encode::Transcoder(*tokenizer, options_, tool_.target()));
    if (terminal_text_ && writing_) write(terminal_text_->finish());
    if (!writing_) return;
    if (!sound_ && options_.output != "-") return;  // no half an answer under a file's name
    if (const auto done = output_->commit(); !done) tool_.fail(done.error());
  }

 private:
  void transcode(const mlt_encode::Transcoder& transcoder) {
    const unsigned n_threads = tool_.threads() != 0 ? tool_.threads() : ml::available_threads();
    cli::OrderedWork<Outcome> work(n_threads, [this](Outcome outcome) { take(outcome); });
    const std::vector<std::string> files =
        options_.files.empty() ? std::vector<std::string>{"-"} : options_.files;
    if (options_.output == "-" && ::isatty(STDOUT_FILENO) != 0) terminal_text_.emplace();
    // Where the answer does not appear on the terminal itself.
    if (!terminal_text_)
      progress_.emplace(tool_, options_.decode ? "decoding" : "encoding", bytes_of(files), cli::human_size);
    for (const std::string& name : files) {
      if (!writing_) return;
      if (options_.by_line()) {
        add_lines(work, transcoder, name);
        continue;
      }
      work.add([&transcoder, name] {
        Outcome outcome;
        const auto content = ml::read_text(name);
        if (content) {
          outcome.n_bytes = content->size();
          transcoder.text(*content, name, 0, outcome);
        } else {
          outcome.errors.push_back(mlt_encode::in_file(content.error(), name));
        }
        return outcome;
      });
    }
    work.finish();
    progress_.reset();
  }

  // @return 0 where it is not known
  static std::uint64_t bytes_of(const std::vector<std::string>& files) {
    std::uint64_t sum = 0;
    for (const std::string& name : files) {
      std::error_code error;
      const bool known = name != "-" && std::filesystem::is_regular_file(name, error);
      const std::uint64_t size = known ? std::filesystem::file_size(name, error) : 0;
      if (!known || error) return 0;
      sum += size;
    }
    return sum;
  }

  // Whole lines, as they come: about kPart bytes at a time, more where a line is longer.
  void add_lines(cli::OrderedWork<Outcome>& work, const mlt_encode::Transcoder& transcoder,
                 const std::string& name) {
    const auto add = [&](std::string part, std::uint64_t offset) {
      work.add([&transcoder, name, offset, part = std::move(part)] {
        Outcome outcome{.n_bytes = part.size()};
        transcoder.lines(part, name, offset, outcome);
        return outcome;
      });
    };
    const auto fail = [&](ml::Error error) {
      work.add([error = mlt_encode::in_file(std::move(error), name)] { return Outcome{.errors = {error}}; });
    };
    auto input = ml::InputStream::open(name);
    if (!input) return fail(std::move(input.error()));
    std::uint64_t offset = 0;  // of `rest`
    std::string rest;          // the beginning of a line
    while (writing_) {
      const std::size_t n_kept = rest.size();
      rest.resize(n_kept + kPart);
      const auto n_read = input->read(std::span(rest).subspan(n_kept));
      if (!n_read) return fail(n_read.error());
      rest.resize(n_kept + *n_read);
      if (*n_read == 0) break;
      const std::size_t newline = std::string_view(rest).substr(n_kept).rfind('\n');
      if (newline == std::string_view::npos) continue;
      const std::size_t end = n_kept + newline + 1;
      std::string next = rest.substr(end);
      rest.resize(end);
      const std::uint64_t n_done = rest.size();
      add(std::move(rest), offset);
      offset += n_done;
      rest = std::move(next);
    }
    if (!rest.empty()) add(std::move(rest), offset);
  }

  void take(const Outcome& outcome) {
    if (!writing_) return;
    for (const ml::Error& error : outcome.errors) tool_.fail(error);
    sound_ = sound_ && outcome.errors.empty();
    if (progress_) progress_->advance(outcome.n_bytes);
    write(terminal_text_ ? terminal_text_->push(outcome.answer) : outcome.answer);
  }

  void write(std::string_view text) {
    const auto written = output_->write(std::as_bytes(std::span(text)));
    if (written) return;
    tool_.fail(written.error());
    writing_ = false;
  }

  cli::Tool& tool_;
  const Options& options_;
  std::optional<ml::OutputFile> output_;
  std::optional<cli::Progress> progress_;
  std::optional<cli::TerminalText> terminal_text_;  // where the answer goes to a terminal
  bool writing_ = true;
  bool sound_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("mlt-encode", "Turns text into token ids, and ids into text.",
                 "mlt-encode -m model.mlt story.txt | mlt-encode -m model.mlt -d");
  Options options;
  mlt_encode::add_options(tool, options);
  return tool.main(argc, argv, [&] {
    if (const std::string problem = mlt_encode::usage_problem(options); !problem.empty()) {
      return tool.fail_usage(problem);
    }
    Run(tool, options).run();
  });
}
