#include "ml_bench/measure.hpp"

#include "common/open_model.hpp"
#include "common/progress.hpp"

#include <ml/hash.hpp>
#include <ml/little_endian.hpp>
#include <ml/model.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace ml_bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Any tokens do; these are spread over the vocabulary and the same on every machine.
std::vector<std::uint32_t> tokens_of(std::uint32_t vocab, std::uint64_t n) {
  std::vector<std::uint32_t> tokens(n);
  for (std::uint64_t i = 0; i < n; ++i) tokens[i] = static_cast<std::uint32_t>(i * 7919 % vocab);
  return tokens;
}

std::uint64_t largest(const std::vector<std::uint32_t>& list) {
  return *std::max_element(list.begin(), list.end());
}

std::vector<unsigned> thread_counts(const Options& options) {
  std::vector<unsigned> counts(options.threads.begin(), options.threads.end());
  if (counts.empty()) counts.push_back(0);
  for (unsigned& count : counts) {
    if (count == 0) count = ml::available_threads();
  }
  return counts;
}

// Limits of each pair of threads and target, measured before and after the tests.
class LimitProbes {
 public:
  LimitProbes(std::vector<unsigned> threads, std::vector<ml::Target> targets)
      : threads_(std::move(threads)), targets_(std::move(targets)) {}

  void measure() {
    const ml::ReadProbe probe;
    for (const unsigned n : threads_) reads_[n].push_back(probe.bytes_per_second(n));
    for (const unsigned n : threads_) {
      for (const ml::Target target : targets_)
        peaks_[{n, target}].push_back(ml::int8_operations_per_second(n, target));
    }
  }
  Limits of(unsigned threads, ml::Target target) const {
    const auto& reads = reads_.at(threads);
    const auto& peaks = peaks_.at({threads, target});
    Limits limits;
    limits.read_bandwidth = (reads.front() + reads.back()) / 2;
    limits.read_drift = std::fabs(reads.front() - reads.back()) / limits.read_bandwidth;
    limits.int8_peak = (peaks.front() + peaks.back()) / 2;
    if (limits.int8_peak > 0) limits.int8_drift = std::fabs(peaks.front() - peaks.back()) / limits.int8_peak;
    return limits;
  }

 private:
  std::vector<unsigned> threads_;
  std::vector<ml::Target> targets_;
  std::map<unsigned, std::vector<double>> reads_;
  std::map<std::pair<unsigned, ml::Target>, std::vector<double>> peaks_;
};

// How much of an expert a token works with, on average; 1 for tensors that all tokens share.
double share_of(const ml::ModelDesc& desc, ml::Role role) {
  if (!ml::is_expert(role)) return 1;
  const std::uint32_t chosen =
      role == ml::Role::v_expert ? desc.mixture.n_chosen_values : desc.mixture.n_chosen;
  return double(chosen) / ml::role_count(desc, role);
}

void count_work(const ml::Model& model, ModelFacts& facts) {
  facts.n_bytes = model.n_bytes();
  facts.n_weights = model.n_weights();
  double decode_bytes = 0;
  const bool shared = model.desc().shared_classifier;
  for (const ml::Tensor& tensor : model.tensors()) {
    const double part = share_of(model.desc(), tensor.role);
    const double operations = 2.0 * part * static_cast<double>(tensor.view.n_weights());
    const bool classifier = tensor.role == (shared ? ml::Role::tok_emb : ml::Role::wcls);
    if (tensor.role == ml::Role::tok_emb && !shared) continue;  // a row of it is read
    decode_bytes += part * static_cast<double>(tensor.view.n_bytes());
    if (classifier) {
      facts.classifier_operations += operations;
    } else if (ml::is_matrix(tensor.role)) {
      facts.layer_operations += operations;
      facts.quantized = facts.quantized || ml::encoding_info(tensor.view.encoding).takes_q8();
    }
  }
  facts.decode_bytes = static_cast<std::uint64_t>(std::llround(decode_bytes));
}

class Bench {
 public:
  Bench(cli::Tool& tool, const Options& options) : tool_(tool), options_(options) {}

  Results run() {
    results_.machine = ml::describe_machine();
    LimitProbes probes(thread_counts(options_), tool_.targets());
    for (const std::string& path : options_.models) {
      if (auto facts = open_once(path)) results_.models.push_back(std::move(*facts));
    }
    probes.measure();
    for (const ModelFacts& model : results_.models) add_tests(model);
    run_rounds();
    probes.measure();
    for (Row& row : results_.rows) row.limits = probes.of(row.threads, row.target);
    return std::move(results_);
  }

 private:
  /// A session that the tests of one model, number of threads and target share.
  struct Subject {
    std::vector<std::uint32_t> tokens;
    ml::Session session;
  };

  std::uint64_t positions() const {
    return largest(options_.depths) + std::max(largest(options_.prompts), largest(options_.decodes));
  }

  ml::Result<ml::Session> make_session(const ml::Model& model, unsigned threads, ml::Target target) const {
    return ml::Session::create(model, {.ctx = static_cast<std::uint32_t>(positions()),
                                       .batch = options_.batch,
                                       .activations = options_.activations,
                                       .kv = options_.kv,
                                       .threads = threads,
                                       .target = target});
  }

  template <class T>
  std::optional<T> checked(ml::Result<T> result, const std::string& path) {
    if (result) return std::move(*result);
    tool_.fail(ml::with_path(result.error(), path));
    return std::nullopt;
  }

  // Load, first token and memory: from opening the model to the end of its longest prompt, then it is closed.
  std::optional<ModelFacts> open_once(const std::string& path) {
    ModelFacts facts{.path = path};
    std::error_code ignored;
    if (const auto file = std::filesystem::status(path, ignored); std::filesystem::is_other(file)) {
      tool_.fail({.status = ml::Status::io,
                  .message = "is no regular file; a model is opened more than once",
                  .path = path});
      return std::nullopt;
    }
    ml::reset_peak_memory();
    const auto start = Clock::now();
    const auto model = checked(cli::open_model(tool_, path, {.trust = options_.trust}), path);
    if (model) cli::detail_session(tool_, model->desc(), options_.activations, options_.kv);
    if (!model) return std::nullopt;
    facts.load_seconds = seconds_since(start);
    auto session =
        checked(make_session(*model, thread_counts(options_).front(), tool_.targets().front()), path);
    if (!session) return std::nullopt;
    const auto tokens = tokens_of(model->desc().vocab, std::max<std::uint64_t>(1, largest(options_.prompts)));
    if (!checked(session->eval(std::span(tokens).first(1)), path)) return std::nullopt;
    facts.first_token_seconds = seconds_since(start);
    session->reset();
    if (!checked(session->eval(tokens), path)) return std::nullopt;
    facts.peak_memory = ml::peak_memory_bytes();
    count_work(*model, facts);
    facts.kv = options_.kv.value_or(ml::default_kv(model->desc(), options_.activations));
    facts.quantized = facts.quantized && options_.activations == ml::Activations::q8;
    return facts;
  }

  void add_tests(const ModelFacts& facts) {
    const auto model = checked(ml::Model::open(facts.path, {.trust = true}), facts.path);
    if (!model) return;
    for (const unsigned threads : thread_counts(options_)) {
      for (const ml::Target target : tool_.targets()) {
        auto session = checked(make_session(*model, threads, target), facts.path);
        if (!session) return;
        subjects_.push_back(std::make_unique<Subject>(
            Subject{tokens_of(model->desc().vocab, positions()), std::move(*session)}));
        for (const std::uint32_t depth : options_.depths) {
          const auto add = [&](bool decode, const std::vector<std::uint32_t>& lengths) {
            for (const std::uint32_t n : lengths) {
              if (n == 0) continue;
              results_.rows.push_back({.model = &facts,
                                       .decode = decode,
                                       .n = n,
                                       .depth = depth,
                                       .threads = threads,
                                       .target = target});
              subject_of_row_.push_back(subjects_.back().get());
            }
          };
          add(false, options_.prompts);
          add(true, options_.decodes);
        }
      }
    }
  }

  void run_rounds() {
    const std::uint32_t n_warm = options_.no_warmup ? 0 : 1;
    cli::Progress progress(tool_, "measuring", results_.rows.size() * (options_.repetitions + n_warm));
    for (std::uint32_t round = 0; round < options_.repetitions + n_warm; ++round) {
      for (std::size_t i = 0; i < results_.rows.size(); ++i) {
        run_test(*subject_of_row_[i], results_.rows[i], round >= n_warm);
        progress.advance(1);
      }
    }
    if (!options_.digest) return;
    for (std::size_t i = 0; i < results_.rows.size(); ++i) take_digest(*subject_of_row_[i], results_.rows[i]);
  }

  // Sizes and tokens were checked when the model was opened, so that no step can fail.
  static void fill(Subject& subject, const Row& row) {
    subject.session.reset();
    if (row.depth != 0) (void)subject.session.eval(std::span(subject.tokens).first(row.depth));
  }

  static void run_test(Subject& subject, Row& row, bool count) {
    fill(subject, row);
    const std::span<const std::uint32_t> tokens = std::span(subject.tokens).subspan(row.depth, row.n);
    const auto start = Clock::now();
    if (row.decode) {
      for (const std::uint32_t& token : tokens) (void)subject.session.eval({&token, 1});
    } else {
      (void)subject.session.eval(tokens);
    }
    if (count) row.seconds.push_back(seconds_since(start));
  }

  static void take_digest(Subject& subject, Row& row) {
    fill(subject, row);
    ml::Hasher hasher;
    (void)subject.session.eval(std::span(subject.tokens).subspan(row.depth, row.n),
                               [&](std::uint32_t, std::span<const float> logits) {
                                 hasher.update(ml::LittleEndian(logits).bytes());
                               });
    row.digest = hasher.hex();
  }

  cli::Tool& tool_;
  const Options& options_;
  Results results_;
  std::vector<std::unique_ptr<Subject>> subjects_;
  std::vector<Subject*> subject_of_row_;
};

}  // namespace

Results measure(cli::Tool& tool, const Options& options) { return Bench(tool, options).run(); }

}  // namespace ml_bench
