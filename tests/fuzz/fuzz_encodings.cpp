// Weights: any bytes as blocks of an encoding, which decode to something, and any floats, which are encoded
// within that encoding's bound or refused with a message.
//
//   byte 0  the encoding; byte 1  bit 0 scales in F16, bit 1 encode, bit 2 the round rule; then the bytes,
//   which are repeated as far as they are needed

#include "support.hpp"

#include "encodings/int_group.hpp"
#include "kernels/targets.hpp"
#include "quantize/encode_matrix.hpp"
#include "util/half.hpp"

#include <ml/inspect.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace {

using namespace ml;

constexpr std::uint64_t kCols = 256;

class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> all) : all_(all) {}

  std::vector<std::byte> take(std::uint64_t n) {
    std::vector<std::byte> taken;
    for (std::uint64_t i = 0; i < n; ++i) taken.push_back(static_cast<std::byte>(all_[at_++ % all_.size()]));
    return taken;
  }
  std::vector<float> take_floats(std::uint64_t n) {
    const std::vector<std::byte> taken = take(4 * n);
    std::vector<float> x(n);
    std::memcpy(x.data(), taken.data(), taken.size());
    return x;
  }

 private:
  std::span<const std::uint8_t> all_;
  std::size_t at_ = 0;
};

std::vector<float> decode(const TensorView& view) {
  std::vector<float> all(view.rows * view.cols), unrounded(view.cols);
  for (std::uint64_t row = 0; row < view.rows; ++row) {
    decode_row(view, row, std::span(all).subspan(row * view.cols, view.cols));
    decode_row_unrounded(view, row, unrounded);
  }
  return all;
}

void decode_any(const EncodingInfo& info, ScaleType scale_type, Bytes& bytes) {
  TensorView view{.encoding = info.encoding,
                  .scale_type = info.quantized ? scale_type : ScaleType::none,
                  .rows = 2 * info.block_rows,
                  .cols = kCols};
  const auto data = bytes.take(view.rows * view.row_bytes());
  const auto scales = bytes.take(view.rows * view.row_scale_bytes());
  const auto biases = bytes.take(info.slice_biases ? 4 : view.rows * view.row_bias_bytes());
  const auto seeds = bytes.take(view.rows * view.row_seed_bytes());
  view.data = data;
  view.scales = scales;
  view.biases = biases;
  view.seeds = seeds;
  (void)decode(view);
  (void)tensor_stats(view, 1);
}

// No weight may be further off than this share of the largest one of its group.
void check_near(const std::vector<float>& x, const std::vector<float>& decoded, std::uint64_t group,
                double share, double least) {
  for (std::size_t begin = 0; begin < x.size(); begin += group) {
    double largest = 0;
    for (std::size_t i = begin; i < begin + group; ++i) largest = std::max(largest, std::fabs(double(x[i])));
    for (std::size_t i = begin; i < begin + group; ++i) {
      if (!(std::fabs(double(decoded[i]) - double(x[i])) <= share * largest + least)) std::abort();
    }
  }
}

void encode_integers(const EncodingInfo& info, ScaleType scale_type, bool round, Bytes& bytes) {
  const IntGroup layout = *int_group(info.encoding);
  TensorView view{
      .encoding = info.encoding, .scale_type = scale_type, .rows = layout.block_rows(), .cols = kCols};
  std::vector<float> x = bytes.take_floats(view.rows * view.cols);
  // What is not finite is refused before this.
  for (float& value : x) {
    if (!std::isfinite(value)) value = 0;
  }
  std::vector<std::byte> data(view.rows * view.row_bytes()), scales(view.rows * view.row_scale_bytes());
  if (encode_int_group(kernels::quant_table_of(Target::best), info.encoding, scale_type, x, view.cols, round,
                       data.data(), scales.data()))
    return;
  view.data = data;
  view.scales = scales;
  // Scales in F16 end at 2^-24, where the 127 steps of 8 bits are 8e-6.
  check_near(x, decode(view), layout.group, layout.bits == 8 ? 0.006 : 1.0,
             scale_type == ScaleType::f16 ? 1e-5 : 1e-30);
}

void encode_bf16(const EncodingInfo& info, Bytes& bytes) {
  const std::uint64_t cols = info.seed_bytes != 0 ? 16 : kCols;
  const std::vector<std::byte> weights = bytes.take(2 * cols);
  ThreadPool pool(1);
  const MatrixEncoder encoder{.pool = pool, .kernels = kernels::table_of(Target::best)};
  const auto encoded = encode_matrix(info.encoding, {.rows = 1, .cols = cols, .bf16 = weights}, encoder);
  std::vector<float> x(cols);
  bool finite = true;
  for (std::size_t i = 0; i < cols; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, weights.data() + 2 * i, 2);
    x[i] = bf16_to_f32(bits);
    finite = finite && std::isfinite(x[i]);
  }
  if (!encoded) {
    if (encoded.error().message.empty()) std::abort();
    return;
  }
  if (!finite) std::abort();
  const TensorView view{.encoding = info.encoding,
                        .rows = 1,
                        .cols = cols,
                        .data = encoded->data,
                        .scales = encoded->scales,
                        .biases = encoded->biases,
                        .seeds = encoded->seeds,
                        .slice_rows = info.slice_biases ? 1u : 0u};
  const std::vector<float> decoded = decode(view);
  if (info.encoding == Encoding::bf16 && decoded != x) std::abort();
  if (info.bias_bytes != 0) check_near(x, decoded, info.block_weights, 1.0, 1e-5);
}

}  // namespace

FUZZ_TARGET(encodings) {
  if (size < 3) return 0;
  const EncodingInfo& info = encodings()[data[0] % encodings().size()];
  const ScaleType scale_type = (data[1] & 1) != 0 ? ScaleType::f16 : ScaleType::f32;
  Bytes bytes({data + 2, size - 2});
  if ((data[1] & 2) == 0) {
    decode_any(info, scale_type, bytes);
  } else if (int_group(info.encoding)) {
    encode_integers(info, scale_type, (data[1] & 4) != 0, bytes);
  } else if (info.encoding != Encoding::f32 && info.encoding != Encoding::f16 &&
             info.encoding != Encoding::seed6p8) {
    encode_bf16(info, bytes);
  }
  return 0;
}
