#include "ml_run/collect.hpp"

#include "common/open_model.hpp"
#include "common/progress.hpp"
#include "common/same_path.hpp"
#include "common/text.hpp"

#include <ml/imatrix.hpp>
#include <ml/inspect.hpp>
#include <ml/output.hpp>
#include <ml/session.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace cli {

namespace {

constexpr std::uint32_t kDefaultChunk = 512;
constexpr std::chrono::seconds kSaveInterval(30);

// How many chunks a file of these counts covers; nothing where it does not end with one of them.
std::optional<std::uint64_t> chunks_covered(const Chunks& chunks, const ml::Imatrix& total, bool all_logits) {
  const bool whole = total.tokens == chunks.n_tokens();
  const std::uint64_t n = whole ? chunks.count() : total.tokens / chunks.size;
  if (!whole && (n >= chunks.count() || total.tokens != n * chunks.size)) return std::nullopt;
  if (total.classifier_tokens != (all_logits ? total.tokens : n)) return std::nullopt;
  return n;
}

class Collection {
 public:
  Collection(Tool& tool, const RunOptions& options, const ml::Model& model, Chunks chunks,
             const std::vector<std::string>& inputs)
      : tool_(tool),
        options_(options),
        model_(model),
        chunks_(std::move(chunks)),
        inputs_(inputs),
        replace_(tool.force()) {}

  bool begin();
  void run();

 private:
  bool resume();
  bool open();
  bool evaluate(ml::Session& session);
  bool save();
  bool fail(const ml::Error& error, const std::string& path) {
    tool_.fail(ml::with_path(error, path));
    return false;
  }

  Tool& tool_;
  const RunOptions& options_;
  const ml::Model& model_;
  const Chunks chunks_;
  const std::vector<std::string>& inputs_;
  bool replace_;
  bool once_ = false;                   // a pipe or a device takes one matrix, at the end
  std::optional<ml::OutputFile> file_;  // of the next save, where it is open already
  std::optional<ml::ImatrixCollector> collector_;
  std::uint64_t done_ = 0;  // chunks
};

bool Collection::resume() {
  if (once_) {
    return fail({.status = ml::Status::arg, .message = "is no file that --resume can go on from"},
                options_.imatrix);
  }
  if (ml::file_format(options_.imatrix) == "gguf") {
    return fail({.status = ml::Status::arg, .message = "is GGUF: --resume goes on with an MLI1 file only"},
                options_.imatrix);
  }
  auto total = ml::open_imatrix(options_.imatrix);
  if (!total) return fail(total.error(), options_.imatrix);
  const auto covered = chunks_covered(chunks_, *total, options_.all_logits);
  if (!covered) {
    return fail({.status = ml::Status::arg,
                 .message = fmt::format(
                     "{} tokens ({} of the classifier) are no beginning of this text's {} in chunks of {}: "
                     "the file is of another run",
                     total->tokens, total->classifier_tokens, chunks_.n_tokens(), chunks_.size)},
                options_.imatrix);
  }
  auto collector = ml::ImatrixCollector::resume(model_.desc(), std::move(*total));
  if (!collector) return fail(collector.error(), options_.imatrix);
  collector_.emplace(std::move(*collector));
  done_ = *covered;
  replace_ = true;
  tool_.note(
      fmt::format("{}: goes on after {} of {}", options_.imatrix, done_, counted(chunks_.count(), "chunk")));
  return true;
}

bool Collection::begin() {
  std::error_code ignored;
  const auto status = std::filesystem::status(options_.imatrix, ignored);
  once_ = names_standard_output(options_.imatrix) ||
          (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status));
  if (options_.resume && std::filesystem::exists(status)) return resume();
  auto collector = ml::ImatrixCollector::create(model_.desc());
  if (!collector) return fail(collector.error(), options_.model);
  collector_.emplace(std::move(*collector));
  return open();  // whether the file can be written is known before the work, not after it
}

bool Collection::open() {
  auto file = ml::OutputFile::create(options_.imatrix, {.force = replace_, .inputs = inputs_});
  if (!file) return fail(file.error(), options_.imatrix);
  file_.emplace(std::move(*file));
  return true;
}

bool Collection::save() {
  if (!file_ && !open()) return false;
  auto written = ml::write_imatrix(collector_->total(), *file_);
  if (written) written = file_->commit();
  if (!written) return fail(written.error(), options_.imatrix);
  file_.reset();
  replace_ = true;
  return true;
}

// One chunk. After a failure the sums are those of the chunks before it.
bool Collection::evaluate(ml::Session& session) {
  const std::vector<std::uint32_t> chunk = chunks_.at(done_);
  session.reset();
  ml::Result<void> result;
  if (options_.all_logits) {
    result = session.eval(chunk, [](std::uint32_t, std::span<const float>) {});
  } else if (const auto logits = session.eval(chunk); !logits) {
    result = logits.error();
  }
  if (result) result = collector_->accept();
  if (result) return true;
  result.error().message += fmt::format(" (chunk {} of {})", done_ + 1, chunks_.count());
  return fail(result.error(), options_.model);
}

void Collection::run() {
  if (done_ == chunks_.count()) return;
  ml::SessionOptions session_options = cli::session_options(tool_, options_);
  session_options.ctx = chunks_.size;
  session_options.imatrix = &*collector_;
  auto session = ml::Session::create(model_, session_options);
  if (!session) return tool_.fail(ml::with_path(session.error(), options_.model));

  auto saved = std::chrono::steady_clock::now();
  {
    Progress progress(tool_, "collecting", chunks_.n_tokens(), human_count, done_ * chunks_.size);
    for (; done_ < chunks_.count(); ++done_) {
      progress.set(done_ * chunks_.size);
      const bool due = options_.save_every != 0 ? done_ % options_.save_every == 0
                                                : std::chrono::steady_clock::now() - saved > kSaveInterval;
      if (due && done_ > 0 && !once_) {
        if (!save()) return;
        saved = std::chrono::steady_clock::now();
      }
      if (!evaluate(*session)) break;
    }
  }
  if (done_ == 0 || !save() || done_ < chunks_.count()) return;
  const bool to_stdout = names_standard_output(options_.imatrix);
  tool_.note(fmt::format("{}: {} in {}", to_stdout ? "standard output" : options_.imatrix,
                         counted(collector_->total().tokens, "token"), counted(done_, "chunk")));
}

}  // namespace

std::vector<std::uint32_t> Chunks::at(std::uint64_t i) const {
  std::vector<std::uint32_t> chunk;
  if (bos) chunk.push_back(*bos);
  const auto rest = std::span(text).subspan(i * n_text());
  for (const std::uint32_t token : rest.first(std::min<std::uint64_t>(n_text(), rest.size()))) {
    chunk.push_back(token);
  }
  return chunk;
}

void Chunks::keep(const Shard& shard) {
  // As many for each, and one more for the first ones.
  const std::uint64_t n_each = count() / shard.n;
  const std::uint64_t n_left = count() % shard.n;
  const auto bound = [&](std::uint64_t index) {
    const std::uint64_t chunk = n_each * index + std::min(index, n_left);
    return static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(chunk * n_text(), text.size()));
  };
  text = {text.begin() + bound(shard.index), text.begin() + bound(shard.index + 1)};
}

void collect_imatrix(Tool& tool, const RunOptions& options, const ml::Model& model, Chunks chunks,
                     const std::vector<std::string>& inputs) {
  const std::uint32_t max_seq = model.desc().max_seq;
  if (chunks.size == 0) chunks.size = std::min(kDefaultChunk, max_seq);
  if (chunks.size > max_seq) {
    return tool.fail(
        {.status = ml::Status::limit,
         .message = fmt::format("--chunk is {}, but the model allows {} positions", chunks.size, max_seq),
         .path = options.model});
  }
  if (chunks.n_text() == 0) {
    return tool.fail({.status = ml::Status::arg, .message = "a chunk of 1 token holds BOS alone"});
  }
  if (!options.shard.empty()) {
    chunks.keep(*parse_shard(options.shard));
    if (chunks.text.empty()) {
      return tool.fail(
          {.status = ml::Status::arg,
           .message = fmt::format("--shard {} is empty: the text has fewer chunks", options.shard)});
    }
  }
  detail_session(tool, model.desc(), cli::session_options(tool, options).activations, options.kv);
  if (options.dry_run) {
    const auto shape = ml::imatrix_shape(model.desc());
    if (!shape) return tool.fail(ml::with_path(shape.error(), options.model));
    return tool.print("file: {} bytes; {} in {} of {}\n", shape->n_bytes(),
                      counted(chunks.n_tokens(), "token"), counted(chunks.count(), "chunk"), chunks.size);
  }
  Collection collection(tool, options, model, std::move(chunks), inputs);
  if (collection.begin()) collection.run();
}

}  // namespace cli
