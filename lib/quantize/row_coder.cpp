#include "quantize/row_coder.hpp"

#include "encodings/int_group.hpp"
#include "encodings/q4_0.hpp"
#include "encodings/q8_0.hpp"
#include "encodings/scales.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ml {

namespace {

// Weights that stay in the first-level cache from the source to the error sums.
constexpr std::uint64_t kStepWeights = 4096;

// The float32 of the row's float64 mean, summed in the order of the columns.
float mean_square(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += static_cast<double>(value) * static_cast<double>(value);
  return static_cast<float>(std::min<double>(sum / static_cast<double>(row.size()), HUGE_VALF));
}

}  // namespace

RowCoder::RowCoder(const RowSource& source, const MlbArray& array, Q4Rule rule, std::vector<float> importance,
                   const kernels::QuantTable& table)
    : source_(source),
      array_(array),
      q4_rule_(rule),
      importance_(std::move(importance)),
      table_(table),
      copied_(same_quants(source.view().encoding, array.encoding) && source.view().cols == array.cols) {
  const EncodingInfo& info = encoding_info(array.encoding);
  row_blocks_ = array.cols / info.block_weights;
  row_bytes_ = row_blocks_ * info.block_bytes;
  row_scale_bytes_ = row_blocks_ * scale_bytes(array.scale_type);
}

std::uint64_t RowCoder::step_rows() const { return std::max<std::uint64_t>(1, kStepWeights / array_.cols); }

void RowCoder::reserve(Scratch& scratch) const {
  const auto grow = [](std::vector<float>& memory, std::uint64_t n) {
    if (memory.size() < n) memory.resize(n);
  };
  grow(scratch.x, step_rows() * array_.cols + kernels::kLanes);
  grow(scratch.spare, array_.cols);
  grow(scratch.d, step_rows() * row_blocks_);
  grow(scratch.mean_squares, step_rows());
  if (copied_ && scratch.quants.size() < array_.cols) scratch.quants.resize(array_.cols);
}

Error RowCoder::non_finite(std::uint64_t row, std::span<const float> x) const {
  const auto bad = std::find_if(x.begin(), x.end(), [](float value) { return !std::isfinite(value); });
  const auto index = static_cast<std::uint64_t>(bad - x.begin());
  return {.status = Status::format,
          .message = fmt::format("weight of row {}, column {} is {}, must be finite",
                                 source_.source_row(row + index / array_.cols), index % array_.cols,
                                 std::isnan(*bad) ? "NaN" : "infinite")};
}

void RowCoder::measure(std::span<const float> x, float largest, const std::byte* data, const float* d,
                       kernels::ErrorSums& sums) const {
  const std::uint64_t n_blocks = x.size() / kBlock;
  const float unit = std::ldexp(1.0f, std::clamp(largest > 0 ? std::ilogb(largest) : 0, -126, 126));
  if (array_.encoding == Encoding::q8_0) {
    table_.measure_q8_0(x.data(), n_blocks, reinterpret_cast<const std::int8_t*>(data), d, unit, sums);
  } else {
    table_.measure_q4_0(x.data(), n_blocks, reinterpret_cast<const unsigned char*>(data), d, unit, sums);
  }
}

std::optional<std::uint64_t> RowCoder::encode_q4_0(std::span<const float> x, std::uint64_t n_rows,
                                                   Scratch& scratch, std::byte* data,
                                                   std::byte* scales) const {
  float* d = scratch.d.data();
  if (q4_rule_ == Q4Rule::round) return encode_q4_0_round(table_, x, array_.scale_type, data, scales, d);
  Q4Importance importance{importance_, std::span(scratch.mean_squares).first(n_rows)};
  for (std::uint64_t i = 0; i < n_rows && !importance_.empty(); ++i) {
    scratch.mean_squares[i] = mean_square(x.subspan(i * array_.cols, array_.cols));
  }
  const Q4Importance* const weights = importance_.empty() ? nullptr : &importance;
  if (q4_rule_ == Q4Rule::best)
    return encode_q4_0_best(table_, x, weights, array_.scale_type, data, scales, d);
  return encode_q4_0_search(table_, x, weights, array_.scale_type, data, scales, d);
}

// A row whose quants stay; its scales may change their type. A row that the source lacks is zeros.
std::optional<std::uint64_t> RowCoder::copy_row(std::uint64_t from, std::int8_t* quants, std::byte* data,
                                                std::byte* scales, float* d) const {
  const TensorView& view = source_.view();
  if (from == RowSource::kNone) {
    std::memset(data, array_.encoding == Encoding::q4_0 ? 0x88 : 0, row_bytes_);
    std::memset(scales, 0, row_scale_bytes_);
    std::fill_n(d, row_blocks_, 0.0f);
    return std::nullopt;
  }
  if (view.encoding == array_.encoding) {
    std::memcpy(data, view.data.data() + from * row_bytes_, row_bytes_);
  } else {
    load_quants(view, from, 1, quants);
    store_quants(array_.encoding, {quants, view.cols}, data);
  }
  for (std::uint64_t b = 0; b < row_blocks_; ++b) d[b] = load_scale(view, scale_index(view, from, b));
  return store_scales(table_, {d, row_blocks_}, array_.scale_type, scales);
}

Result<void> RowCoder::encode_step(std::uint64_t row, std::uint64_t n_rows, Scratch& scratch, std::byte* data,
                                   std::byte* scales, kernels::ErrorSums& sums) const {
  const std::uint64_t cols = array_.cols;
  std::span<const float> x = source_.in_place(row, n_rows);
  if (x.empty()) {
    const std::span<float> loaded = std::span(scratch.x).first(n_rows * cols);
    for (std::uint64_t i = 0; i < n_rows; ++i) {
      source_.load(row + i, loaded.subspan(i * cols, cols), scratch.spare);
    }
    std::fill_n(scratch.x.begin() + static_cast<std::ptrdiff_t>(loaded.size()), kernels::kLanes, 0.0f);
    x = loaded;
  }
  const float largest = table_.largest_magnitude(x.data(), kernels::padded_floats(x.size()));
  if (std::isnan(largest)) return non_finite(row, x);
  if (!encoding_info(array_.encoding).quantized) {  // .mlb stores plain tensors as float32 only
    store_le(data, x);
    return {};
  }
  std::optional<std::uint64_t> bad_block;
  if (copied_) {
    for (std::uint64_t i = 0; i < n_rows && !bad_block; ++i) {
      bad_block = copy_row(source_.source_row(row + i), scratch.quants.data(), data + i * row_bytes_,
                           scales + i * row_scale_bytes_, scratch.d.data() + i * row_blocks_);
      if (bad_block) *bad_block += i * row_blocks_;
    }
  } else if (array_.encoding == Encoding::q8_0) {
    bad_block = encode_q8_0(table_, x, array_.scale_type, data, scales, scratch.d.data());
  } else {
    bad_block = encode_q4_0(x, n_rows, scratch, data, scales);
  }
  if (bad_block)
    return scale_overflow(array_.scale_type,
                          fmt::format("row {}, block {}", source_.source_row(row + *bad_block / row_blocks_),
                                      *bad_block % row_blocks_));
  measure(x, largest, data, scratch.d.data(), sums);
  return {};
}

Result<SquareSums> RowCoder::encode(std::uint64_t first, std::uint64_t last, Scratch& scratch,
                                    std::byte* data, std::byte* scales) const {
  kernels::ErrorSums sums = {};
  const std::uint64_t step = step_rows();
  for (std::uint64_t row = first; row < last; row += step) {
    ML_CHECK(encode_step(row, std::min(step, last - row), scratch, data + (row - first) * row_bytes_,
                         scales + (row - first) * row_scale_bytes_, sums));
  }
  return SquareSums{std::accumulate(std::begin(sums.error), std::end(sums.error), 0.0),
                    std::accumulate(std::begin(sums.source), std::end(sums.source), 0.0)};
}

}  // namespace ml
