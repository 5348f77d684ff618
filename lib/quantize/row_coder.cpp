#include "quantize/row_coder.hpp"

#include "encodings/q4_0.hpp"
#include "encodings/q8_0.hpp"
#include "encodings/scales.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

bool all_finite(std::span<const float> x) {
  std::uint32_t bad = 0;
  for (const float value : x) {
    bad |= (std::bit_cast<std::uint32_t>(value) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
  }
  return bad == 0;
}

// Eight sums, element i in sum i mod 8: a fixed order that vectorizes.
SquareSums square_sums(std::span<const float> x, std::span<const float> y) {
  constexpr std::size_t kSums = 8;
  double error[kSums] = {};
  double source[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= x.size(); i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) {
      const double value = x[i + k];
      const double difference = value - static_cast<double>(y[i + k]);
      error[k] += difference * difference;
      source[k] += value * value;
    }
  }
  for (; i < x.size(); ++i) {
    const double value = x[i];
    const double difference = value - static_cast<double>(y[i]);
    error[i % kSums] += difference * difference;
    source[i % kSums] += value * value;
  }
  SquareSums sums;
  for (std::size_t k = 0; k < kSums; ++k) sums.add({error[k], source[k]});
  return sums;
}

Error overflow(std::uint64_t row, std::uint64_t block) {
  return {.status = Status::limit,
          .message =
              fmt::format("scale of row {}, block {} is over 65504 and cannot be stored as f16", row, block)};
}

}  // namespace

RowCoder::RowCoder(const RowSource& source, const MlbArray& array, const QuantizeOptions& options)
    : source_(source),
      array_(array),
      q4_rule_(options.q4_rule),
      copied_(source.view().encoding == array.encoding && encoding_info(array.encoding).quantized &&
              source.view().cols == array.cols) {
  const EncodingInfo& info = encoding_info(array.encoding);
  row_bytes_ = array.cols / info.block_weights * info.block_bytes;
  row_scale_bytes_ = array.cols / info.block_weights * scale_bytes(array.scale_type);
}

Error RowCoder::non_finite(std::uint64_t row, std::span<const float> x) const {
  const auto bad = std::find_if(x.begin(), x.end(), [](float value) { return !std::isfinite(value); });
  const auto column = static_cast<std::uint64_t>(bad - x.begin());
  return {.status = Status::format,
          .message = fmt::format("weight of row {}, column {} is {}, must be finite", source_.source_row(row),
                                 column, std::isnan(*bad) ? "NaN" : "infinite")};
}

SquareSums RowCoder::measure(std::span<const float> x, std::span<float> y, const std::byte* data,
                             const std::byte* scales) const {
  const TensorView written{.encoding = array_.encoding,
                           .scale_type = array_.scale_type,
                           .rows = 1,
                           .cols = array_.cols,
                           .data = {data, row_bytes_},
                           .scales = {scales, row_scale_bytes_}};
  decode_row(written, 0, y);
  return square_sums(x, y);
}

Result<SquareSums> RowCoder::encode(std::uint64_t row, std::span<float> scratch, std::byte* data,
                                    std::byte* scales) const {
  if (copied_ && source_.source_row(row) != RowSource::kNone) return copy(row, scratch, data, scales);
  const std::span<float> x = scratch.first(array_.cols);
  source_.load(row, x, scratch.subspan(array_.cols, array_.cols));
  if (!all_finite(x)) return non_finite(row, x);
  std::optional<std::uint64_t> bad_block;
  if (array_.encoding == Encoding::q8_0) {
    bad_block = encode_q8_0(x, array_.scale_type, data, scales);
  } else if (array_.encoding == Encoding::q4_0) {
    bad_block = q4_rule_ == Q4Rule::round ? encode_q4_0_round(x, array_.scale_type, data, scales)
                                          : encode_q4_0_search(x, nullptr, array_.scale_type, data, scales);
  } else {  // .mlb stores plain tensors as float32 only
    std::memcpy(data, x.data(), row_bytes_);
    return square_sums(x, x);
  }
  if (bad_block) return overflow(source_.source_row(row), *bad_block);
  return measure(x, scratch.subspan(array_.cols, array_.cols), data, scales);
}

Result<SquareSums> RowCoder::copy(std::uint64_t row, std::span<float> scratch, std::byte* data,
                                  std::byte* scales) const {
  const TensorView& view = source_.view();
  const std::uint64_t from = source_.source_row(row);
  const std::uint64_t n_blocks = view.cols / kBlock;
  const std::span<float> x = scratch.first(array_.cols);
  source_.load(row, x, scratch.subspan(array_.cols, array_.cols));
  if (!all_finite(x)) return non_finite(row, x);
  std::memcpy(data, view.data.data() + from * row_bytes_, row_bytes_);
  if (view.scale_type == array_.scale_type) {
    std::memcpy(scales, view.scales.data() + from * row_scale_bytes_, row_scale_bytes_);
    return square_sums(x, x);
  }
  for (std::uint64_t b = 0; b < n_blocks; ++b) {
    const float d = load_scale(view, from * n_blocks + b);
    if (array_.scale_type == ScaleType::f32) {
      store_le(scales + 4 * b, d);
      continue;
    }
    const std::uint16_t half = f32_to_f16(d);
    if ((half & 0x7fffu) == 0x7c00u) return overflow(from, b);
    store_le(scales + 2 * b, half);
  }
  return measure(x, scratch.subspan(array_.cols, array_.cols), data, scales);
}

}  // namespace ml
