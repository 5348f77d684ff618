#include "kernels/targets.hpp"
#include "quantize/encode_matrix.hpp"
#include "quantize/pack_other_files.hpp"
#include "quantize/pack_work.hpp"
#include "quantize/seed_pack_plan.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/half.hpp"
#include "util/output_folder.hpp"
#include "util/try.hpp"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <new>
#include <numeric>

namespace ml {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Packer {
 public:
  Packer(PackPlan& plan, const SeedPackOptions& options, OutputFolder& out, PackWork work)
      : plan_(plan),
        options_(options),
        out_(out),
        work_(std::move(work)),
        pool_(options.threads != 0 ? options.threads : available_threads()),
        encoder_{pool_, kernels::table_of(options.target), [this](std::uint64_t n) { advance(n); }} {}

  Result<void> write_shard(const LayoutShard& shard) {
    ML_CHECK(out_.begin_file(shard.name, shard.n_bytes));
    ML_CHECK(out_.write_at(0, as_bytes(std::string_view(shard.header))));
    for (std::size_t i = 0; i < shard.entries.size();) {
      const std::uint32_t tensor = shard.entries[i].tensor;
      std::size_t n = 1;
      while (i + n < shard.entries.size() && shard.entries[i + n].tensor == tensor) ++n;
      auto written = write_tensor(tensor, std::span(shard.entries).subspan(i, n));
      if (!written) {
        Error error = std::move(written.error());
        if (error.path.empty()) {
          error.path = *plan_.sources[tensor].tensor.entry->path;
          error.tensor = plan_.sources[tensor].tensor.name;
        }
        return error;
      }
      i += n;
    }
    return {};
  }

 private:
  void advance(std::uint64_t n) {
    const std::lock_guard lock(mutex_);
    done_ += n;
    if (options_.progress) options_.progress(done_, plan_.report.n_weights);
  }

  Result<void> write_tensor(std::uint32_t index, std::span<const LayoutEntry> entries) {
    const auto start = Clock::now();
    const PackSource& pack_source = plan_.sources[index];
    const CheckpointTensor& source = pack_source.tensor;
    const LayoutTensor& tensor = plan_.tensors[index];
    PackedTensor& row = plan_.report.tensors[index];
    if (!source.view || (row.copied && !tensor.dtype.empty())) {
      ML_CHECK(copy_plain(pack_source, entries[0].offset));
      advance(row.n_weights);
    } else if (row.copied) {
      const TensorView& view = *source.view;
      ML_CHECK(write_entries(entries, {view.data, view.scales, view.biases, view.seeds}));
      advance(row.n_weights);
    } else {
      ML_CHECK(encode_tensor(pack_source, tensor, entries, row));
    }
    row.seconds = seconds_since(start);
    return {};
  }

  Result<void> copy_plain(const PackSource& source, std::uint64_t offset) {
    if (source.experts.empty()) return out_.write_at(offset, source.tensor.entry->tensor->data);
    for (const TensorView& expert : source.experts) {
      ML_CHECK(out_.write_at(offset, expert.data));
      offset += expert.data.size();
    }
    return {};
  }

  using Parts = std::array<std::span<const std::byte>, 4>;  // in the order of EntryPart
  Result<void> write_entries(std::span<const LayoutEntry> entries, const Parts& parts) {
    for (const LayoutEntry& entry : entries)
      ML_CHECK(out_.write_at(entry.offset, parts[static_cast<std::size_t>(entry.part)]));
    return {};
  }

  Result<void> encode_tensor(const PackSource& pack_source, const LayoutTensor& tensor,
                             std::span<const LayoutEntry> entries, PackedTensor& row) {
    const CheckpointTensor& source = pack_source.tensor;
    const TensorView& view = *source.view;
    const std::span<const TensorView> views =
        pack_source.experts.empty() ? std::span(&view, 1) : std::span(pack_source.experts);
    const std::vector<std::byte> rounded = view.encoding == Encoding::bf16 && views.size() == 1
                                               ? std::vector<std::byte>()
                                               : to_bf16(views, view.n_weights());
    const Encoding encoding = tensor.dtype.empty() ? tensor.encoding : Encoding::bf16;
    MatrixSource matrix{.rows = view.rows, .cols = view.cols, .bf16 = rounded.empty() ? view.data : rounded};
    if (source.shape.size() == 3) {
      matrix.slices = source.shape[0];
      matrix.rows = source.shape[1];
    }
    const bool searched = encoding_info(encoding).seed_bytes != 0;
    std::vector<float> importance;
    if (options_.importance && searched) {
      ML_TRY(importance, options_.importance(source.name, view.cols));
      matrix.importance = importance;
    }
    EncodedMatrix encoded;
    if (auto kept = searched ? work_.load(encoding, matrix) : std::nullopt; kept) {
      encoded = std::move(*kept);
      advance(row.n_weights);
    } else {
      ML_TRY(encoded, encode_matrix(encoding, matrix, encoder_));
      if (searched) ML_CHECK(work_.keep(encoding, matrix, encoded));
    }
    ML_CHECK(write_entries(entries, {encoded.data, encoded.scales, encoded.biases, encoded.seeds}));
    row.relative_error = relative_error(views, TensorView{.encoding = encoding,
                                                          .rows = view.rows,
                                                          .cols = view.cols,
                                                          .data = encoded.data,
                                                          .scales = encoded.scales,
                                                          .biases = encoded.biases,
                                                          .seeds = encoded.seeds,
                                                          .slice_rows = matrix.rows});
    return {};
  }

  static std::vector<std::byte> to_bf16(std::span<const TensorView> views, std::uint64_t n_weights) {
    std::vector<std::byte> bytes(vector_size<std::byte>(Checked(2) * n_weights));
    std::byte* out = bytes.data();
    for (const TensorView& view : views) {
      std::vector<float> row(view.cols);
      for (std::uint64_t r = 0; r < view.rows; ++r, out += 2 * view.cols) {
        decode_row(view, r, row);
        for (std::uint64_t c = 0; c < view.cols; ++c) {
          // A NaN must stay one: what is not finite is refused later.
          store_le(out + 2 * c, std::isnan(row[c]) ? std::uint16_t{0x7fc0} : f32_to_bf16(row[c]));
        }
      }
    }
    return bytes;
  }

  /// @param from  views of the same columns, whose rows follow one another
  static double relative_error(std::span<const TensorView> from, const TensorView& to) {
    std::vector<float> a(to.cols);
    std::vector<float> b(to.cols);
    double error = 0;
    double total = 0;
    const std::uint64_t n_rows = from[0].rows;
    for (std::uint64_t r = 0; r < to.rows; ++r) {
      decode_row(from[r / n_rows], r % n_rows, a);
      decode_row(to, r, b);
      for (std::size_t c = 0; c < a.size(); ++c) {
        const double difference = static_cast<double>(a[c]) - static_cast<double>(b[c]);
        error += difference * difference;
        total += static_cast<double>(a[c]) * static_cast<double>(a[c]);
      }
    }
    return total > 0 ? std::sqrt(error / total) : 0;
  }

  PackPlan& plan_;
  const SeedPackOptions& options_;
  OutputFolder& out_;
  PackWork work_;
  ThreadPool pool_;
  MatrixEncoder encoder_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
};

Result<void> write_other_files(const PackPlan& plan, OutputFolder& out) {
  if (!plan.config.empty()) ML_CHECK(out.write_file("config.json", as_bytes(std::string_view(plan.config))));
  for (const std::string& path : plan.copies) {
    ML_TRY(const auto input, open_copied(path));
    ML_CHECK(out.write_file(std::filesystem::path(path).filename().string(), input->data()));
  }
  return out.write_file("model.safetensors.index.json", as_bytes(std::string_view(plan.layout.index)));
}

Result<PackReport> pack(const std::string& input, const std::string& output, const SeedPackOptions& options) {
  const auto start = Clock::now();
  ML_TRY(PackPlan plan, make_pack_plan(input, output, options));
  for (const SafetensorsTensor& tensor : plan.made) {
    if (tensor.data.empty())
      return Error{.status = Status::arg, .message = "is planned but not converted", .tensor = tensor.name};
  }
  const auto kind = plan.folder ? OutputFolder::Kind::folder : OutputFolder::Kind::single_file;
  ML_TRY(OutputFolder out, OutputFolder::create(output, kind, options.force, plan.owned));
  ML_TRY(PackWork work, PackWork::open(options.work));
  Packer packer(plan, options, out, std::move(work));
  for (const LayoutShard& shard : plan.layout.shards) ML_CHECK(packer.write_shard(shard));
  if (plan.folder) ML_CHECK(write_other_files(plan, out));
  ML_CHECK(out.commit());
  plan.report.seconds = seconds_since(start);
  return std::move(plan.report);
}

}  // namespace

Result<PackReport> pack_model(const std::string& input, const std::string& output,
                              const SeedPackOptions& options) {
  try {
    return pack(input, output, options);
  } catch (const std::bad_alloc&) {
    return Error{.status = Status::nomem, .message = "not enough memory to pack", .path = input};
  }
}

}  // namespace ml
