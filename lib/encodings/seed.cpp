#include "encodings/seed.hpp"

#include "encodings/lfsr.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ml {

namespace {

std::int32_t coefficient(std::uint64_t word, unsigned p) {
  return static_cast<std::int32_t>(((word >> (4 * p)) & 0xfu) ^ 8u) - 8;
}

// An I32 that a file may set to anything, and a code.
std::int32_t exponent_of(const TensorView& view, std::uint64_t row, std::uint32_t code) {
  const std::uint64_t slice = view.slice_rows == 0 ? 0 : row / view.slice_rows;
  const std::int64_t sum = std::int64_t{load_le<std::int32_t>(view.biases.data() + 4 * slice)} + code;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, -4096, 4096));
}

std::uint32_t code_of(const TensorView& view, std::uint64_t block) {
  const auto byte = std::to_integer<std::uint32_t>(view.scales[block / 2]);
  return block % 2 == 0 ? byte & 0xfu : byte >> 4;
}

template <bool kRounded>
float weight(std::int32_t sum, float scale) {
  if (sum == 0) return 0;
  const float value = static_cast<float>(sum) * scale;
  return kRounded ? bf16_to_f32(f32_to_bf16(value)) : value;
}

template <unsigned kP, bool kRounded>
void decode_block(std::uint16_t seed, std::uint64_t word, float scale, float* out) {
  std::uint64_t stream = lfsr_stream(seed);
  for (unsigned c = 0; c < kSeedBlock; ++c) {
    // 48 bits hold 32 states; the next 32 are those of the seed that stands at their end.
    if (kP == 8 && c == 4) stream = lfsr_stream(static_cast<std::uint16_t>(stream >> 32));
    std::int32_t sum = 0;
    for (unsigned p = 0; p < kP; ++p) {
      const unsigned k = kP * c + p + 1;
      sum += basis_element(stream, kP == 8 && c >= 4 ? k - 32 : k) * coefficient(word, p);
    }
    out[c] = weight<kRounded>(sum, scale);
  }
}

}  // namespace

float seed_scale(std::int32_t exponent) {
  constexpr std::int32_t kExact = 100;  // well within normal numbers, where no library is needed
  if (exponent < -kExact || exponent > kExact) return std::ldexp(kSeedUnit, exponent);
  return kSeedUnit * std::bit_cast<float>((static_cast<std::uint32_t>(exponent + 127)) << 23);
}

template <bool kRounded>
void decode_row_seed4p4(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::uint64_t n_blocks = view.cols / kSeedBlock;
  for (std::uint64_t j = 0; j < n_blocks; ++j) {
    const std::uint64_t block = row * n_blocks + j;
    decode_block<4, kRounded>(load_le<std::uint16_t>(view.seeds.data() + 2 * block),
                              load_le<std::uint16_t>(view.data.data() + 2 * block),
                              seed_scale(exponent_of(view, row, code_of(view, block))),
                              out.data() + j * kSeedBlock);
  }
}

template <bool kRounded>
void decode_row_seed4(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::uint64_t n_blocks = view.cols / kSeedBlock;
  for (std::uint64_t j = 0; j < n_blocks; ++j) {
    const std::uint64_t block = row * n_blocks + j;
    const auto word = load_le<std::uint16_t>(view.data.data() + 2 * block);
    decode_block<3, kRounded>(load_le<std::uint16_t>(view.seeds.data() + 2 * block), word >> 4,
                              seed_scale(exponent_of(view, row, word & 0xfu)), out.data() + j * kSeedBlock);
  }
}

template <bool kRounded>
void decode_row_seed6p8(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const std::uint64_t n_blocks = view.cols / kSeedBlock;
  for (std::uint64_t j = 0; j < n_blocks; ++j) {
    const std::uint64_t block = row * n_blocks + j;
    decode_block<8, kRounded>(load_le<std::uint16_t>(view.seeds.data() + 2 * block),
                              load_le<std::uint32_t>(view.data.data() + 4 * block),
                              seed_scale(exponent_of(view, row, code_of(view, block))),
                              out.data() + j * kSeedBlock);
  }
}

template void decode_row_seed4p4<true>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_seed4p4<false>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_seed4<true>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_seed4<false>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_seed6p8<true>(const TensorView&, std::uint64_t, std::span<float>);
template void decode_row_seed6p8<false>(const TensorView&, std::uint64_t, std::span<float>);

}  // namespace ml
