#include <ml/quantize.hpp>
#include <ml/target.hpp>

#include "kernels/targets.hpp"
#include "quantize/ordered_turns.hpp"
#include "quantize/plan.hpp"
#include "quantize/row_coder.hpp"
#include "util/checked.hpp"
#include "util/thread_pool.hpp"
#include "util/try.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <new>
#include <optional>

namespace ml {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Weights a piece of work: enough to make handing it out cheap, few enough to stay near the processor. Sums
// are formed by pieces, so it must not depend on the number of threads.
constexpr std::uint64_t kPieceWeights = std::uint64_t(1) << 18;

Error with_tensor(Error error, std::string_view name) {
  error.tensor = name;
  return error;
}

// Memory of one thread.
struct Workspace {
  RowCoder::Scratch scratch;
  std::vector<std::byte> data;
};

class Workspaces {
 public:
  // One of them, until the end of a piece.
  class Lease {
   public:
    explicit Lease(Workspaces& owner) : owner_(owner), workspace_(owner.acquire()) {}
    ~Lease() { owner_.release(workspace_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Workspace& operator*() const { return workspace_; }

   private:
    Workspaces& owner_;
    Workspace& workspace_;
  };

  explicit Workspaces(unsigned n) : all_(n) {
    for (Workspace& workspace : all_) free_.push_back(&workspace);
  }
  void reserve(const RowCoder& coder, std::uint64_t n_bytes) {
    for (Workspace& workspace : all_) {
      coder.reserve(workspace.scratch);
      if (workspace.data.size() < n_bytes) workspace.data.resize(vector_size<std::byte>(n_bytes));
    }
  }

 private:
  Workspace& acquire() {
    const std::lock_guard lock(mutex_);
    Workspace* workspace = free_.back();
    free_.pop_back();
    return *workspace;
  }
  void release(Workspace& workspace) {
    const std::lock_guard lock(mutex_);
    free_.push_back(&workspace);  // within capacity: nothing is allocated
  }

  std::vector<Workspace> all_;
  std::vector<Workspace*> free_;
  std::mutex mutex_;
};

class Quantizer {
 public:
  Quantizer(const Model& model, const QuantizeOptions& options, const MlbPlan& plan, OutputFile& out)
      : model_(model),
        options_(options),
        plan_(plan),
        out_(out),
        writer_(plan, out),
        start_(out.position()),
        pool_(options.threads != 0 ? options.threads : available_threads()),
        workspaces_(pool_.n_threads()) {}

  Result<void> write_header() { return writer_.write_header(); }
  Result<void> write_tensor(QuantizedTensor& tensor);

 private:
  void report_progress() {
    if (options_.progress) options_.progress(out_.position() - start_, plan_.n_bytes);
  }

  const Model& model_;
  const QuantizeOptions& options_;
  const MlbPlan& plan_;
  OutputFile& out_;
  MlbWriter writer_;
  std::uint64_t start_;
  ThreadPool pool_;
  Workspaces workspaces_;
  std::vector<std::byte> scales_;
};

Result<void> Quantizer::write_tensor(QuantizedTensor& tensor) {
  const auto start = Clock::now();
  const MlbArray& array = tensor.array;
  const Tensor& source_tensor = *model_.find(array.role, array.layer);
  const kernels::QuantTable& table = kernels::quant_table_of(options_.target);
  const RowSource source(model_.desc(), source_tensor, array.cols, table);
  const RowCoder coder(source, array, options_.q4_rule, importance_of(array, model_.desc(), options_), table);
  const std::uint64_t piece_rows = std::max<std::uint64_t>(1, kPieceWeights / array.cols);
  workspaces_.reserve(coder, std::min(piece_rows, array.rows) * coder.row_bytes());
  scales_.resize(vector_size<std::byte>(array.n_scale_bytes));

  OrderedTurns turns;
  SquareSums sums;
  std::optional<Error> error;
  std::atomic<bool> failed{false};
  const std::uint64_t n_pieces = (array.rows + piece_rows - 1) / piece_rows;
  pool_.run(n_pieces, 1, [&](std::uint64_t piece, std::uint64_t) {
    const Workspaces::Lease lease(workspaces_);
    Workspace& workspace = *lease;
    OrderedTurns::Turn turn(turns, piece);
    const std::uint64_t first = piece * piece_rows;
    const std::uint64_t last = std::min(array.rows, first + piece_rows);
    SquareSums piece_sums;
    std::optional<Error> piece_error;
    if (!failed.load(std::memory_order_relaxed)) {
      auto encoded = coder.encode(first, last, workspace.scratch, workspace.data.data(),
                                  scales_.data() + first * coder.row_scale_bytes());
      if (encoded) {
        piece_sums = *encoded;
      } else {
        piece_error = with_tensor(std::move(encoded.error()), source_tensor.name);
      }
    }
    turn.take([&] {
      if (error) return;  // an earlier piece failed: its error is the first one
      if (!piece_error) {
        auto written = writer_.write(std::span(workspace.data).first((last - first) * coder.row_bytes()));
        if (!written) piece_error = std::move(written.error());
      }
      if (piece_error) {
        error = std::move(piece_error);
        failed.store(true, std::memory_order_relaxed);
        return;
      }
      sums.add(piece_sums);
      report_progress();
    });
  });
  if (error) return *std::move(error);
  ML_CHECK(writer_.pad());
  if (array.n_scale_bytes != 0) {
    ML_CHECK(writer_.write(scales_));
    ML_CHECK(writer_.pad());
    report_progress();
  }
  tensor.rms_error = std::sqrt(sums.error / static_cast<double>(source.view().n_weights()));
  tensor.relative_error = sums.source > 0 ? std::sqrt(sums.error / sums.source) : 0;
  tensor.seconds = seconds_since(start);
  return {};
}

}  // namespace

Result<QuantizeReport> quantize_model(const Model& model, const QuantizeOptions& options, OutputFile& out) {
  const auto start = Clock::now();
  try {
    ML_TRY(QuantizePlan plan, make_quantize_plan(model, options));
    Quantizer quantizer(model, options, plan.mlb, out);
    ML_CHECK(quantizer.write_header());
    for (QuantizedTensor& tensor : plan.report.tensors) ML_CHECK(quantizer.write_tensor(tensor));
    plan.report.seconds = seconds_since(start);
    return std::move(plan.report);
  } catch (const std::bad_alloc&) {
    return Error{.status = Status::nomem, .message = "not enough memory to quantize"};
  }
}

}  // namespace ml
