#include "kernels/support.hpp"

#include "util/bytes.hpp"
#include "util/half.hpp"

#include <limits>

using namespace ml;

std::vector<StoredAs> all_encodings() {
  std::vector<StoredAs> result;
  for (const EncodingInfo& info : encodings()) {
    if (info.quantized) result.push_back({info.encoding, ScaleType::f32});
    result.push_back({info.encoding, info.quantized ? ScaleType::f16 : ScaleType::none});
  }
  return result;
}

TestMatrix::TestMatrix(Random& random, Encoding encoding, ScaleType scale_type, std::uint64_t rows,
                       std::uint64_t cols, bool extreme) {
  view = {.encoding = encoding, .scale_type = scale_type, .rows = rows, .cols = cols};
  data.resize(1 + rows * view.row_bytes());
  scale_bytes.resize(1 + rows * view.row_scale_bytes());
  const EncodingInfo& info = encoding_info(encoding);
  std::byte* out = data.data() + 1;
  for (std::uint64_t i = 0; i < rows * cols; ++i) {
    const float value = extreme ? (random.bits() & 1 ? 3e38f : -3e38f) : random.uniform();
    switch (encoding) {
      case Encoding::f32: store_le(out + 4 * i, value); break;
      case Encoding::f16: store_le(out + 2 * i, f32_to_f16(value)); break;
      case Encoding::bf16: {
        store_le(out + 2 * i, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
        break;
      }
      case Encoding::q8g64:  // any byte is a code, any word of coefficients
      case Encoding::q4g64:
      case Encoding::q4g32:
      case Encoding::seed4p4:
      case Encoding::seed4:
      case Encoding::seed6p8: break;
      default:  // 4 bits: any byte is two quants; 8 bits: all but -128
        if (info.block_bytes == info.block_weights) {
          store_le(out + i, static_cast<std::int8_t>(extreme ? (random.bits() & 1 ? 127 : -127)
                                                             : int(random.bits() % 255) - 127));
        } else if (i % 2 == 0) {
          store_le(out + i / 2,
                   static_cast<std::uint8_t>(extreme ? (random.bits() & 1 ? 0x00 : 0xff) : random.bits()));
        }
    }
  }
  if (!info.quantized && info.block_weights > 1) {
    fill_other(random, extreme);
    return;
  }
  const std::uint64_t n_scales = rows * cols / info.block_weights;
  for (std::uint64_t i = 0; i < n_scales; ++i) {
    const float value = extreme ? 60000.0f : random.uniform() * 0.1f;
    if (scale_type == ScaleType::f32) store_le(scale_bytes.data() + 1 + 4 * i, value);
    if (scale_type == ScaleType::f16) store_le(scale_bytes.data() + 1 + 2 * i, f32_to_f16(value));
  }
  view.data = std::span<const std::byte>(data).subspan(1);
  view.scales = std::span<const std::byte>(scale_bytes).subspan(1);
}

// Affine and seed encodings.
void TestMatrix::fill_other(Random& random, bool extreme) {
  const bool affine = view.seeds.empty() && view.row_seed_bytes() == 0;
  biases.resize(
      1 + (affine ? view.rows * view.row_bias_bytes() : 4 * ((view.rows + kSliceRows - 1) / kSliceRows)));
  seeds.resize(1 + view.rows * view.row_seed_bytes());
  for (auto* bytes : {&data, &scale_bytes, &biases, &seeds}) {
    for (std::byte& b : *bytes) b = static_cast<std::byte>(random.bits());
  }
  if (affine) {
    for (auto* bytes : {&scale_bytes, &biases}) {
      for (std::uint64_t i = 1; i + 1 < bytes->size(); i += 2) {
        store_le(bytes->data() + i,
                 f32_to_bf16(extreme ? random.uniform() * 1e38f : random.uniform() * 0.1f));
      }
    }
  } else {
    view.slice_rows = kSliceRows;
    constexpr std::int32_t kExtreme[] = {-1014,
                                         -130,
                                         127,
                                         std::numeric_limits<std::int32_t>::max(),
                                         -111,
                                         140,
                                         std::numeric_limits<std::int32_t>::min()};
    for (std::uint64_t i = 0; 4 * i + 1 < biases.size(); ++i) {
      store_le(biases.data() + 1 + 4 * i,
               extreme ? kExtreme[i % 7] : static_cast<std::int32_t>(random.bits() % 16) - 24);
    }
    if (extreme) {  // sums of 0 beside others, and the seed that stays 0
      for (std::uint64_t i = 1; i < data.size(); ++i) data[i] = i % 16 < 8 ? std::byte{0} : data[i];
      for (std::uint64_t i = 1; i < seeds.size(); i += 37) seeds[i] = std::byte{0};
    }
  }
  view.data = std::span<const std::byte>(data).subspan(1);
  view.scales = std::span<const std::byte>(scale_bytes).subspan(1);
  view.biases = std::span<const std::byte>(biases).subspan(1);
  view.seeds = std::span<const std::byte>(seeds).subspan(1);
}

kernels::WeightMatrix TestMatrix::matrix() const {
  return {.data = reinterpret_cast<const unsigned char*>(view.data.data()),
          .scales = reinterpret_cast<const unsigned char*>(view.scales.data()),
          .cols = view.cols,
          .row_bytes = view.row_bytes(),
          .row_scale_bytes = view.row_scale_bytes(),
          .f16_scales = view.scale_type == ScaleType::f16,
          .biases = reinterpret_cast<const unsigned char*>(view.biases.data()),
          .seeds = reinterpret_cast<const unsigned char*>(view.seeds.data()),
          .slice_rows = view.slice_rows,
          .group_blocks = encoding_info(view.encoding).block_weights / kBlock};
}

unsigned char* panel_scratch(std::uint64_t cols) {
  static std::vector<unsigned char> memory;
  constexpr std::uint64_t kAlignment = 64;
  memory.assign(kernels::panel_bytes(cols) + kAlignment, 0xa5);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (kAlignment - address % kAlignment) % kAlignment;
}
