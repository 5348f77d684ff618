#include "encodings/int_group.hpp"
#include "encodings/scales.hpp"
#include "kernels/targets.hpp"
#include "quantize/mog_plan.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/half.hpp"
#include "util/thread_pool.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

namespace ml {

namespace {

// Weights a piece of work; a batch of pieces is written before the next one is made.
constexpr std::uint64_t kPieceWeights = std::uint64_t(1) << 16;
constexpr std::uint64_t kPiecesAThread = 4;

Error bad_value(Status status, std::uint64_t row, std::uint64_t col, std::string_view what) {
  return {.status = status, .message = fmt::format("weight of row {}, column {} {}", row, col, what)};
}

// One tensor on its way into the file.
class Encoder {
 public:
  Encoder(const RecipeTensor& source, const MlbArray& array, bool round, Target target)
      : source_(source),
        array_(array),
        round_(round),
        table_(kernels::quant_table_of(target)),
        info_(encoding_info(array.encoding)) {
    const TensorView view{
        .encoding = array.encoding, .scale_type = array.scale_type, .rows = array.rows, .cols = array.cols};
    row_bytes_ = view.row_bytes();
    row_scale_bytes_ = view.row_scale_bytes();
  }

  std::uint64_t row_bytes() const { return row_bytes_; }
  std::uint64_t row_scale_bytes() const { return row_scale_bytes_; }
  std::uint64_t piece_rows() const {
    const std::uint64_t rows = std::max<std::uint64_t>(1, kPieceWeights / array_.cols);
    return (rows + kRowBlock - 1) / kRowBlock * kRowBlock;
  }

  // Rows [first, first + n), to `data` and `scales`.
  Result<void> encode(std::uint64_t first, std::uint64_t n, std::byte* data, std::byte* scales) const {
    std::vector<float> x(vector_size<float>(Checked(info_.block_rows) * array_.cols));
    for (std::uint64_t row = 0; row < n; row += info_.block_rows) {
      for (std::uint64_t i = 0; i < info_.block_rows; ++i)
        source_.load(first + row + i, std::span(x).subspan(i * array_.cols, array_.cols));
      const auto wrong = std::find_if(x.begin(), x.end(), [](float value) { return !std::isfinite(value); });
      if (wrong != x.end()) {
        const auto at = static_cast<std::uint64_t>(wrong - x.begin());
        return bad_value(Status::format, first + row + at / array_.cols, at % array_.cols,
                         std::isnan(*wrong) ? "is NaN, must be finite" : "is infinite, must be finite");
      }
      ML_CHECK(encode_rows(first + row, x, data + row * row_bytes_, scales + row * row_scale_bytes_));
    }
    return {};
  }

 private:
  Result<void> encode_rows(std::uint64_t row, std::span<const float> x, std::byte* data,
                           std::byte* scales) const {
    if (array_.encoding == Encoding::f32) {
      store_le(data, x);
      return {};
    }
    if (array_.encoding == Encoding::f16 || array_.encoding == Encoding::bf16) {
      const bool half = array_.encoding == Encoding::f16;
      const std::uint16_t infinity = half ? 0x7c00u : 0x7f80u;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint16_t value = half ? f32_to_f16(x[i]) : f32_to_bf16(x[i]);
        if ((value & 0x7fffu) == infinity)
          return bad_value(Status::limit, row, i, fmt::format("is {}, too large for {}", x[i], info_.name));
        store_le(data + 2 * i, value);
      }
      return {};
    }
    const auto overflow =
        encode_int_group(table_, array_.encoding, array_.scale_type, x, array_.cols, round_, data, scales);
    if (!overflow) return {};
    return scale_overflow(array_.scale_type,
                          fmt::format("row {}, group {}", row + overflow->row, overflow->group));
  }

  const RecipeTensor& source_;
  const MlbArray& array_;
  bool round_;
  const kernels::QuantTable& table_;
  const EncodingInfo& info_;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t row_scale_bytes_ = 0;
};

class PayloadWriter {
 public:
  PayloadWriter(const MogPack::Impl& pack, OutputFile& out, std::uint64_t start)
      : pack_(pack),
        out_(out),
        start_(start),
        pool_(pack.options.threads != 0 ? pack.options.threads : available_threads()) {}

  Result<void> write_all() {
    for (std::size_t i = 0; i < pack_.sources.size(); ++i) {
      auto ok = write(i);
      if (ok) continue;
      if (ok.error().status != Status::io) ok.error().tensor = pack_.report.tensors[i].source;
      return with_path(std::move(ok.error()), pack_.report.tensors[i].file);
    }
    return {};
  }

 private:
  Result<void> write(std::size_t index) {
    const MlbArray& array = pack_.report.tensors[index].array;
    const Encoder encoder(pack_.sources[index], array, pack_.round[index], pack_.options.target);
    const std::uint64_t piece_rows = encoder.piece_rows();
    const std::uint64_t batch_rows = std::min(array.rows, piece_rows * kPiecesAThread * pool_.n_threads());
    std::vector<std::byte> data(vector_size<std::byte>(Checked(batch_rows) * encoder.row_bytes()));
    std::vector<std::byte> scales(vector_size<std::byte>(array.n_scale_bytes));
    ML_CHECK(pad_mog(out_, start_, array.offset));
    for (std::uint64_t first = 0; first < array.rows; first += batch_rows) {
      const std::uint64_t n = std::min(batch_rows, array.rows - first);
      const std::uint64_t n_pieces = (n + piece_rows - 1) / piece_rows;
      std::vector<Result<void>> results(n_pieces);
      pool_.run(n_pieces, 1, [&](std::uint64_t piece, std::uint64_t) {
        const std::uint64_t begin = piece * piece_rows;
        try {
          results[piece] = encoder.encode(first + begin, std::min(piece_rows, n - begin),
                                          data.data() + begin * encoder.row_bytes(),
                                          scales.data() + (first + begin) * encoder.row_scale_bytes());
        } catch (const std::bad_alloc&) {
          results[piece] = Error{.status = Status::nomem, .message = "not enough memory to encode"};
        }
      });
      for (Result<void>& result : results) ML_CHECK(std::move(result));
      ML_CHECK(out_.write(std::span(data).first(n * encoder.row_bytes())));
      report();
    }
    if (scales.empty()) return {};
    ML_CHECK(pad_mog(out_, start_, array.scale_offset));
    ML_CHECK(out_.write(scales));
    report();
    return {};
  }

  void report() {
    if (pack_.options.progress) pack_.options.progress(out_.position() - start_, pack_.plan.n_bytes);
  }

  const MogPack::Impl& pack_;
  OutputFile& out_;
  std::uint64_t start_;
  ThreadPool pool_;
};

}  // namespace

Result<void> write_mog_payload(const MogPack::Impl& pack, OutputFile& out, std::uint64_t start) {
  try {
    return PayloadWriter(pack, out, start).write_all();
  } catch (const std::bad_alloc&) {
    return Error{.status = Status::nomem, .message = "not enough memory to encode"};
  }
}

}  // namespace ml
