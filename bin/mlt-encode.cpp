// Text to token ids and back.

#include "common/id_format.hpp"
#include "common/tool.hpp"

#include <ml/input.hpp>
#include <ml/output.hpp>
#include <ml/tokenizer.hpp>

#include <algorithm>

namespace {

struct Options {
  std::string tokenizer;
  std::vector<std::string> files;
  std::string output = "-";
  std::string format = "ids";
  bool decode = false;
  bool lines = false;
  bool count = false;
  bool bos = false;
  bool no_bos = false;
  bool no_added = false;
  bool strict = false;
};

void add_options(cli::Tool& tool, Options& options) {
  auto& app = tool.app();
  app.add_option("TEXT-FILE", options.files, "Texts, or ids with --decode; default: standard input");
  app.add_option("-m,--tokenizer", options.tokenizer,
                 "A .mlt, a tokenizer.json or a folder that holds one, or a .gguf")
      ->type_name("FILE")
      ->required();
  app.add_flag("-d,--decode", options.decode, "Ids to text");
  app.add_flag("--lines", options.lines, "Each line is a text (or the ids of one)");
  app.add_option("--format", options.format, "How ids are written and, with --decode, read")
      ->check(CLI::IsMember({"ids", "jsonl", "u16", "u32", "pieces"}))
      ->capture_default_str();
  app.add_flag("--count", options.count, "Print only the number of ids of each text");
  auto* bos = app.add_flag("--bos", options.bos, "Begin with BOS; default: as the tokenizer says");
  app.add_flag("--no-bos", options.no_bos, "Do not begin with BOS")->excludes(bos);
  app.add_flag("--no-added", options.no_added, "Added tokens in the text are plain text");
  app.add_flag("--strict", options.strict, "Refuse text that is not UTF-8");
  app.add_option("-o,--output", options.output, "Where the answer goes; default: standard output")
      ->type_name("FILE");
  tool.add_force();
}

// @return what is wrong with the combination of options, or nothing
std::string usage_problem(const Options& options) {
  const bool raw = options.format == "u16" || options.format == "u32";
  const auto n_stdin = std::count(options.files.begin(), options.files.end(), "-") + options.files.empty();
  if (n_stdin + (options.tokenizer == "-") > 1) return "standard input cannot be read twice";
  if (options.count && options.decode) return "--count and --decode exclude each other";
  if (options.decode && options.format == "pieces") return "--format pieces cannot be decoded";
  if (options.decode && options.lines && raw)
    return "--lines needs ids as text, not --format " + options.format;
  return {};
}

/// One run over all inputs.
class Run {
 public:
  Run(cli::Tool& tool, const Options& options) : tool_(tool), options_(options) {}

  void run() {
    auto opened = ml::Tokenizer::open(options_.tokenizer);
    if (!opened) return tool_.fail(ml::with_path(opened.error(), options_.tokenizer));
    tokenizer_.emplace(std::move(*opened));
    if (options_.bos && !tokenizer_->bos()) {
      return tool_.fail(
          {.status = ml::Status::arg, .message = "has no BOS for --bos", .path = options_.tokenizer});
    }
    std::vector<std::string> inputs = options_.files;
    inputs.push_back(options_.tokenizer);
    const bool raw = options_.format == "u16" || options_.format == "u32";
    auto file = ml::OutputFile::create(
        options_.output,
        {.force = tool_.force(), .binary = raw && !options_.decode && !options_.count, .inputs = inputs});
    if (!file) return tool_.fail(file.error());
    output_.emplace(std::move(*file));

    const std::vector<std::string> files =
        options_.files.empty() ? std::vector<std::string>{"-"} : options_.files;
    bool sound = true;
    for (const std::string& name : files) {
      sound = run_file(name) && sound;
      if (!writing_) return;
    }
    if (!sound && options_.output != "-") return;  // no half an answer under a file's name
    if (const auto done = output_->commit(); !done) tool_.fail(done.error());
  }

 private:
  bool run_file(const std::string& name) {
    const auto content = ml::read_text(name);
    if (!content) return fail(content.error(), name);
    const bool by_line = options_.lines || (options_.decode && options_.format == "jsonl");
    if (!by_line) return run_text(*content, name, 0);
    bool sound = true;
    for (std::size_t begin = 0; begin < content->size() && writing_;) {
      const std::size_t end = std::min(content->find('\n', begin), content->size());
      sound = run_text(std::string_view(*content).substr(begin, end - begin), name, begin) && sound;
      begin = end + 1;
    }
    return sound;
  }

  // @param offset  of the text in its file
  bool run_text(std::string_view text, const std::string& name, std::uint64_t offset) {
    return options_.decode ? decode(text, name, offset) : encode(text, name, offset);
  }

  bool encode(std::string_view text, const std::string& name, std::uint64_t offset) {
    if (const auto invalid = options_.strict ? ml::find_invalid_utf8(text) : std::nullopt) {
      return fail({.status = ml::Status::format, .message = "is not UTF-8", .offset = offset + *invalid},
                  name);
    }
    ml::EncodeOptions how{.added = !options_.no_added};
    if (options_.bos || options_.no_bos) how.bos = options_.bos;
    const std::vector<std::uint32_t> ids = tokenizer_->encode(text, how);
    if (options_.count) return write(fmt::format("{}\n", ids.size()));
    auto line = cli::format_ids(ids, options_.format, *tokenizer_);
    if (!line) return fail(line.error(), name);
    return write(*line);
  }

  bool decode(std::string_view text, const std::string& name, std::uint64_t offset) {
    auto ids = cli::parse_ids(text, options_.format);
    if (!ids) {
      if (ids.error().offset) *ids.error().offset += offset;
      return fail(ids.error(), name);
    }
    for (std::size_t i = 0; i < ids->size(); ++i) {
      const std::uint32_t id = (*ids)[i];
      if (id < tokenizer_->n_vocab()) continue;
      return fail({.status = ml::Status::format,
                   .message = fmt::format("id is {}, must be below n_vocab, {}", id, tokenizer_->n_vocab()),
                   .offset = offset + cli::offset_of_id(text, options_.format, i)},
                  name);
    }
    // The BOS that encoding puts there is not of the text.
    const bool adds_bos = options_.bos || (!options_.no_bos && (tokenizer_->flags() & ml::kMltBos));
    const bool skip = adds_bos && !ids->empty() && ids->front() == tokenizer_->bos();
    const std::string decoded = tokenizer_->decode(std::span(*ids).subspan(skip ? 1 : 0));
    if (options_.format == "jsonl") return write(cli::json_text_line(decoded));
    return write(options_.lines ? decoded + "\n" : decoded);
  }

  bool fail(ml::Error error, const std::string& name) {
    tool_.fail(ml::with_path(std::move(error), name == "-" ? "standard input" : name));
    return false;
  }

  bool write(std::string_view text) {
    const auto written = output_->write(std::as_bytes(std::span(text)));
    if (written) return true;
    tool_.fail(written.error());
    writing_ = false;
    return false;
  }

  cli::Tool& tool_;
  const Options& options_;
  std::optional<ml::Tokenizer> tokenizer_;
  std::optional<ml::OutputFile> output_;
  bool writing_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("mlt-encode", "Turns text into token ids, and ids into text.",
                 "mlt-encode -m model.mlt story.txt | mlt-encode -m model.mlt -d");
  Options options;
  add_options(tool, options);
  return tool.main(argc, argv, [&] {
    if (const std::string problem = usage_problem(options); !problem.empty()) return tool.fail_usage(problem);
    Run(tool, options).run();
  });
}
