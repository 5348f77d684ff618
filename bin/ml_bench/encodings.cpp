// --encodings: one checkpoint, packed in several ways by one recipe. The first way is what the others are
// compared with.

#include "ml_bench/encodings.hpp"

#include "common/open_model.hpp"
#include "common/progress.hpp"
#include "common/recipe_hint.hpp"
#include "common/text.hpp"

#include <ml/tokenizer.hpp>

#include <algorithm>
#include <filesystem>

namespace ml_bench {

namespace {

constexpr std::string_view kAsRecipe = "recipe";

std::vector<std::string> split_at(std::string_view text, char mark) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(mark), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

// The steps of a comparison. One that returns false has said why.
class Comparer {
 public:
  Comparer(cli::Tool& tool, const Options& options) : tool_(tool), options_(options) {}

  void operator()() {
    cli::HtmlOutput html(tool_);
    if (!plan_variants()) return;
    std::vector<std::string> inputs = inputs_of(options_);
    for (std::string& file : comparison_.variants.front().pack.inputs()) inputs.push_back(std::move(file));
    if (!html.open(options_.html, inputs) || !tool_.open_output(inputs, false)) return;
    if (!pack() || !read_texts() || !measure_speed() || !score()) return;
    print_encodings(tool_, comparison_, options_);
    tool_.flush();
    if (html.wanted()) html.write(encodings_page(comparison_, options_));
  }

 private:
  const std::string& recipe() const { return options_.encodings[0]; }
  /// Where the recipe's files are.
  std::string root() const { return options_.models.empty() ? std::string() : options_.models.front(); }

  bool usage(const std::string& message) {
    tool_.fail_usage("--encodings: " + message);
    return false;
  }
  bool report(const ml::Error& error, const std::string& path) {
    tool_.fail(ml::with_path(error, path));
    return false;
  }

  // "int4_g32_f32+embed=int8_g32_f32": the first for all matrices, the second for slots. @return false after
  // a usage error
  bool take_item(const std::string& item, const ml::MogPack& as_is, std::vector<ml::MogOverride>& overrides) {
    for (const std::string& part : split_at(item, '+')) {
      const std::size_t equals = part.rfind('=');
      const std::string encoding = equals == std::string::npos ? part : part.substr(equals + 1);
      if (part == kAsRecipe) continue;
      if (ml::find_mog_encoding(encoding) == nullptr || equals == 0) {
        std::string known;
        for (const ml::MogEncoding& row : ml::mog_encodings()) known += row.name + ", ";
        return usage(
            fmt::format("'{}' of '{}' must be ENCODING, GLOB=ENCODING or {}; an encoding is one of {}", part,
                        item, kAsRecipe, known.substr(0, known.size() - 2)));
      }
      if (equals != std::string::npos) {
        overrides.push_back({part.substr(0, equals), encoding});
        continue;
      }
      for (const ml::MogPackedTensor& tensor : as_is.report().tensors) {
        if (ml::is_matrix(tensor.array.role)) overrides.push_back({tensor.slot, encoding});
      }
    }
    return true;
  }

  bool plan_variants() {
    ml::MogPackOptions pack_options{.root = root(), .threads = threads()};
    const auto as_is = ml::MogPack::plan(recipe(), pack_options);
    if (!as_is) {
      return report(
          cli::with_root_hint(as_is.error(), recipe(), root(), "the operand names the checkpoint's folder"),
          recipe());
    }
    for (const std::string& note : as_is->report().notes) tool_.note(recipe() + ": " + note);
    const std::vector<std::string> items = split_at(options_.encodings[1], ',');
    for (const std::string& item : items) {
      if (item.empty()) return usage(fmt::format("an item of '{}' is empty", options_.encodings[1]));
      if (std::count(items.begin(), items.end(), item) > 1) return usage(item + " is there twice");
      pack_options.overrides.clear();
      if (!take_item(item, *as_is, pack_options.overrides)) return false;
      auto planned = ml::MogPack::plan(recipe(), pack_options);
      if (!planned) {
        planned.error().message += fmt::format(" (encoding {})", item);
        return report(planned.error(), recipe());
      }
      comparison_.variants.push_back({item, std::move(*planned)});
    }
    return true;
  }

  unsigned threads() const { return options_.threads.empty() ? 0 : options_.threads.front(); }

  bool pack() {
    auto folder = ml::TemporaryFolder::create("ml-bench");
    if (!folder) {
      tool_.fail(folder.error());
      return false;
    }
    folder_.emplace(std::move(*folder));
    std::uint64_t n_bytes = 0;
    for (const Variant& variant : comparison_.variants) n_bytes += variant.pack.report().n_bytes;
    cli::Progress progress(tool_, "packing", n_bytes, cli::human_size);
    for (std::size_t i = 0; i < comparison_.variants.size(); ++i) {
      Variant& variant = comparison_.variants[i];
      // The name says what a message about the file is about.
      std::string name = fmt::format("{}-{}", i + 1, variant.name).substr(0, 200);
      std::replace(name.begin(), name.end(), '/', '_');
      const auto path = folder_->file(name + ".mog");
      auto out = path ? ml::OutputFile::create(*path) : ml::Result<ml::OutputFile>(path.error());
      auto written = out ? variant.pack.write(*out) : ml::Result<void>(out.error());
      if (written) written = out->commit();
      if (!written) return report(written.error(), folder_->path());
      variant.path = *path;
      progress.advance(variant.pack.report().n_bytes);
    }
    return true;
  }

  bool read_texts() {
    if (options_.texts.empty()) return true;
    const Variant& first = comparison_.variants.front();
    const std::string folder =
        root().empty() ? std::filesystem::path(recipe()).parent_path().string() : root();
    std::string path = options_.tokenizer;
    if (path.empty())
      path = ml::mog_holds_tokenizer(first.path) ? first.path
                                                 : ml::find_tokenizer(folder.empty() ? "." : folder);
    if (path.empty()) {
      return report({.status = ml::Status::arg, .message = "packs no tokenizer; --tokenizer names one"},
                    recipe());
    }
    const auto tokenizer = ml::Tokenizer::open(path);
    if (!tokenizer) return report(tokenizer.error(), path);
    const ml::MogConfig& config = first.pack.report().config;
    ml_eval::Options text_options;
    text_options.texts = options_.texts;
    text_options.split = options_.split;
    text_options.ctx = options_.ctx;
    if (text_options.ctx > config.max_seq) {
      return report({.status = ml::Status::limit,
                     .message = fmt::format("--ctx is {}, but the model allows {} positions", options_.ctx,
                                            config.max_seq)},
                    recipe());
    }
    plan_ = ml_eval::read_texts(tool_, text_options, *tokenizer, config.vocab, config.max_seq);
    return !plan_.texts.empty();
  }

  bool measure_speed() {
    Options options = options_;
    options.models.clear();
    for (const Variant& variant : comparison_.variants) options.models.push_back(variant.path);
    comparison_.results = measure(tool_, options);
    return comparison_.results.models.size() == comparison_.variants.size();
  }

  std::optional<ml::Session> open_session(const Variant& variant) {
    const auto model = ml::Model::open(variant.path, {.trust = true});
    auto session = model ? ml::Session::create(*model, {.ctx = plan_.ctx,
                                                        .batch = options_.batch,
                                                        .activations = options_.activations,
                                                        .kv = options_.kv,
                                                        .threads = threads(),
                                                        .target = tool_.target()})
                         : ml::Result<ml::Session>(model.error());
    if (session) return std::move(*session);
    report(session.error(), variant.path);
    return std::nullopt;
  }

  bool score() {
    if (options_.texts.empty()) return true;
    cli::Progress progress(tool_, "evaluating", plan_.n_inputs() * comparison_.variants.size());
    for (Variant& variant : comparison_.variants) {
      auto session = open_session(variant);
      if (!session) return false;
      std::optional<ml_eval::Base> base;
      if (&variant != &comparison_.variants.front()) {
        auto base_session = open_session(comparison_.variants.front());
        if (!base_session) return false;
        base.emplace(std::move(*base_session), comparison_.variants.front().path);
      }
      const unsigned n = threads() != 0 ? threads() : ml::available_threads();
      ml_eval::Evaluator evaluator(plan_, *session, variant.pack.report().config.vocab, options_.batch, n,
                                   base ? &*base : nullptr, nullptr);
      auto result = evaluator.run([&](std::uint64_t n_tokens) { progress.advance(n_tokens); });
      if (!result) return report(result.error(), variant.path);
      variant.scores = std::move(*result);
    }
    return true;
  }

  cli::Tool& tool_;
  const Options& options_;
  std::optional<ml::TemporaryFolder> folder_;
  Comparison comparison_;
  ml_eval::Plan plan_;
};

}  // namespace

const Row* Comparison::find(std::size_t variant, bool decode) const {
  for (const Row& row : results.rows) {
    if (row.model == &results.models[variant] && row.decode == decode) return &row;
  }
  return nullptr;
}

void compare_encodings(cli::Tool& tool, const Options& options) { Comparer(tool, options)(); }

}  // namespace ml_bench
