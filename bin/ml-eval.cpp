// Perplexity of a model over texts, and how far it is from another model.

#include "common/open_model.hpp"
#include "common/progress.hpp"
#include "common/text.hpp"
#include "ml_eval/report.hpp"

#include <ml/inspect.hpp>
#include <ml/output.hpp>
#include <ml/tokenizer.hpp>

#include <CLI/CLI.hpp>

#include <utility>
#include <variant>

namespace {

using namespace ml_eval;

// The steps of an evaluation. One that returns false has said why.
class Evaluation {
 public:
  Evaluation(cli::Tool& tool, const Options& options) : tool_(tool), options_(options), html_(tool) {}

  void operator()() {
    if (!open_model() || !read_plan() || !open_base()) return;
    cli::detail_session(tool_, model_->desc(), options_.activations, options_.kv);
    tool_.detail("windows of {} tokens: {}", plan_.ctx,
                 options_.ctx != 0 ? "as --ctx says" : "512, or all that the model allows");
    if (!tool_.open_output(inputs(), true)) return;
    if (options_.dry_run) return print_plan();
    if (!open_files()) return;
    auto session = make_session(*model_, options_.model);
    if (!session) return;
    Evaluator evaluator(plan_, *session, model_->desc().vocab, options_.batch, tool_.threads(),
                        base_ ? &*base_ : nullptr, writer_ ? &*writer_ : nullptr);
    const auto result = [&] {
      cli::Progress progress(tool_, "evaluating", plan_.n_inputs());
      return evaluator.run([&](std::uint64_t n) { progress.advance(n); });
    }();
    if (!result) return tool_.fail(ml::with_path(result.error(), options_.model));
    if (writer_ && !commit()) return;
    print(*result);
  }

 private:
  bool report(const ml::Error& error, const std::string& path) {
    tool_.fail(ml::with_path(error, path));
    return false;
  }

  bool open_model() {
    auto model = cli::open_model(tool_, options_.model, {.trust = options_.trust});
    if (!model) {
      return report(cli::as_it_was_read(tool_, model.error(), options_.model, options_.tokenizer),
                    options_.model);
    }
    model_.emplace(std::move(*model));
    return true;
  }

  bool read_plan() {
    tokenizer_path_ = cli::tokenizer_of(tool_, options_.tokenizer, options_.model);
    if (tokenizer_path_.empty()) {
      return report(
          {.status = ml::Status::arg, .message = "no tokenizer beside the model; --tokenizer names one"},
          options_.model);
    }
    const auto tokenizer = ml::Tokenizer::open(tokenizer_path_);
    if (!tokenizer) return report(tokenizer.error(), tokenizer_path_);
    plan_ = read_texts(tool_, options_, *tokenizer, model_->desc().vocab, model_->desc().max_seq);
    if (plan_.texts.empty()) return false;
    if (plan_.n_scored() > 0) return true;
    return report(
        {.status = ml::Status::arg,
         .message = fmt::format("--shard {} is empty: the texts have fewer windows", options_.shard)},
        options_.model);
  }

  std::optional<ml::Session> make_session(const ml::Model& model, const std::string& path) {
    auto session = ml::Session::create(model, {.ctx = plan_.ctx,
                                               .batch = options_.batch,
                                               .activations = options_.activations,
                                               .kv = kv_of(model),
                                               .threads = tool_.threads(),
                                               .target = tool_.target()});
    if (session) return std::move(*session);
    report(session.error(), path);
    return std::nullopt;
  }

  // A base without latent attention keeps what such layers keep beside latent ones.
  ml::KvType kv_of(const ml::Model& model) const {
    const ml::KvType kv = options_.kv.value_or(ml::default_kv(model.desc(), options_.activations));
    const bool latent_only = kv == ml::KvType::fp8 || kv == ml::KvType::fp4;
    return latent_only && &model != &*model_ && !model.desc().has_latent() ? ml::KvType::bf16 : kv;
  }

  bool open_base() {
    if (options_.against.empty()) return true;
    auto opened = cli::open_model_or_logits(tool_, options_.against, {.trust = options_.trust});
    if (!opened) return report(opened.error(), options_.against);
    if (auto* file = std::get_if<ml::LogitsFile>(&*opened)) return take_base_file(std::move(*file));
    base_model_.emplace(std::get<ml::Model>(std::move(*opened)));
    if (base_model_->desc().vocab != model_->desc().vocab)
      return vocabularies_differ(base_model_->desc().vocab);
    auto session = make_session(*base_model_, options_.against);
    if (session) base_.emplace(std::move(*session), options_.against);
    return session.has_value();
  }

  bool take_base_file(ml::LogitsFile file) {
    const ml::LogitsHeader header = file.header();
    if (header.vocab != model_->desc().vocab) return vocabularies_differ(header.vocab);
    const auto differs = [&](const char* what, std::uint64_t has, std::uint64_t here) {
      return report({.status = ml::Status::arg,
                     .message = fmt::format("{} is {} in the logit file, {} here", what, has, here)},
                    options_.against);
    };
    if (header.ctx != plan_.ctx) return differs("--ctx", header.ctx, plan_.ctx);
    if (header.stride != plan_.stride) return differs("--stride", header.stride, plan_.stride);
    if (header.n_rows != plan_.n_scored())
      return differs("number of scored tokens", header.n_rows, plan_.n_scored());
    if (header.tokens_hash != plan_.hash()) {
      return report({.status = ml::Status::arg,
                     .message = "the logit file is of other texts, another tokenizer or other windows"},
                    options_.against);
    }
    base_.emplace(std::move(file), options_.against);
    return true;
  }

  bool vocabularies_differ(std::uint32_t vocab) {
    return report({.status = ml::Status::arg,
                   .message = fmt::format("vocabulary of {} tokens, but {} has {}", vocab, options_.model,
                                          model_->desc().vocab)},
                  options_.against);
  }

  std::vector<std::string> inputs() const {
    std::vector<std::string> files = options_.texts;
    for (const std::string& name : {options_.model, options_.against, tokenizer_path_}) {
      if (name.empty()) continue;
      for (std::string& file : ml::input_files(name)) files.push_back(std::move(file));
    }
    return files;
  }

  bool open_files() {
    if (!html_.open(options_.html, inputs())) return false;
    if (options_.save_logits.empty()) return true;
    auto file = ml::OutputFile::create(options_.save_logits, {.force = tool_.force(), .inputs = inputs()});
    if (!file) return report(file.error(), options_.save_logits);
    output_.emplace(std::move(*file));
    auto writer = ml::LogitsWriter::create(*output_, logits_header());
    if (!writer) return report(writer.error(), options_.save_logits);
    writer_.emplace(std::move(*writer));
    return true;
  }

  ml::LogitsHeader logits_header() const {
    return {.vocab = model_->desc().vocab,
            .precision = options_.precision.value_or(ml::LogitPrecision::bits16),
            .ctx = plan_.ctx,
            .stride = plan_.stride,
            .n_rows = plan_.n_scored(),
            .tokens_hash = plan_.hash()};
  }

  // --dry-run: what would be read and written.
  void print_plan() {
    std::uint64_t n_windows = 0;
    plan_.for_each_window([&](const Text&, const auto&) {
      ++n_windows;
      return true;
    });
    tool_.print("{}, {} of {} every {}: {} to read, {} to score\n", cli::counted(plan_.texts.size(), "text"),
                cli::counted(n_windows, "window"), plan_.ctx, plan_.stride,
                cli::counted(plan_.n_inputs(), "token"), plan_.n_scored());
    if (!options_.save_logits.empty()) tool_.print("logits: {} bytes\n", logits_header().n_bytes());
  }

  bool commit() {
    auto done = writer_->finish();
    if (done) done = output_->commit();
    return done || report(done.error(), options_.save_logits);
  }

  void print(const Result& result) {
    About about{.model = options_.model,
                .against = options_.against,
                .texts = options_.texts,
                .n_texts = plan_.texts.size(),
                .n_windows = result.windows.size(),
                .ctx = plan_.ctx,
                .stride = plan_.stride,
                .bos = plan_.bos.has_value(),
                .activations = options_.activations == ml::Activations::q8 ? "q8" : "f32",
                .kv = std::string(ml::kv_type_name(kv_of(*model_))),
                .parts = Parts(plan_)};
    if (about.texts.empty()) about.texts.push_back("-");
    ml_eval::print(tool_, about, &plan_, result, options_);
    tool_.flush();
    if (html_.wanted()) html_.write(html_page(about, &plan_, result));
  }

  cli::Tool& tool_;
  const Options& options_;
  std::optional<ml::Model> model_, base_model_;
  std::string tokenizer_path_;
  Plan plan_;
  std::optional<Base> base_;
  std::optional<ml::OutputFile> output_;
  std::optional<ml::LogitsWriter> writer_;
  cli::HtmlOutput html_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  cli::Tool tool("ml-eval", "Measures how well a language model predicts texts, and what quantization cost.",
                 "ml-eval model-q4.mlb valid.txt --against model.mlb");
  declare_options(tool, options);
  return tool.main(argc, argv, [&] {
    if (const std::string problem = finish_options(tool, options); !problem.empty())
      return tool.fail_usage(problem);
    if (options.merge) return merge(tool, options);
    Evaluation(tool, options)();
  });
}
