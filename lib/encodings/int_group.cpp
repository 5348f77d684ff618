#include "encodings/int_group.hpp"

#include "encodings/q8_0.hpp"
#include "encodings/scales.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

namespace ml {

namespace {

constexpr std::uint64_t kUnit = 64;     // bytes of a unit of `blocks`
constexpr std::uint64_t kUnitCols = 4;  // bytes of each row in it

std::int8_t low_nibble(std::byte packed) {
  return static_cast<std::int8_t>((std::to_integer<int>(packed) & 15) - 8);
}
std::int8_t high_nibble(std::byte packed) {
  return static_cast<std::int8_t>((std::to_integer<int>(packed) >> 4) - 8);
}
std::byte pack(std::int8_t low, std::int8_t high) {
  return static_cast<std::byte>((low + 8) | ((high + 8) << 4));
}

// The quants of one row that is stored by itself.
void load_row(const IntGroup& layout, const std::byte* in, std::uint64_t cols, std::int8_t* out) {
  const std::uint64_t half = layout.group / 2;
  switch (layout.order) {
    case QuantOrder::rows: std::memcpy(out, in, cols); return;
    case QuantOrder::pairs:
      for (std::uint64_t j = 0; j < cols / 2; ++j) {
        out[2 * j] = low_nibble(in[j]);
        out[2 * j + 1] = high_nibble(in[j]);
      }
      return;
    case QuantOrder::halves:
      for (std::uint64_t begin = 0; begin < cols; begin += layout.group) {
        for (std::uint64_t j = 0; j < half; ++j) {
          out[begin + j] = low_nibble(in[begin / 2 + j]);
          out[begin + j + half] = high_nibble(in[begin / 2 + j]);
        }
      }
      return;
    case QuantOrder::blocks: break;
  }
  assert(false);
}

// Row `lane` of a block of 16.
void load_lane(const IntGroup& layout, const std::byte* block, std::uint64_t lane, std::uint64_t cols,
               std::int8_t* out) {
  const std::byte* in = block + lane * kUnitCols;
  if (layout.bits == 8) {
    for (std::uint64_t c = 0; c < cols; c += kUnitCols, in += kUnit) std::memcpy(out + c, in, kUnitCols);
    return;
  }
  for (std::uint64_t c = 0; c < cols; c += 2 * kUnitCols, in += kUnit) {
    for (std::uint64_t j = 0; j < kUnitCols; ++j) {
      out[c + j] = low_nibble(in[j]);
      out[c + j + kUnitCols] = high_nibble(in[j]);
    }
  }
}

void store_row(const IntGroup& layout, const std::int8_t* quants, std::uint64_t cols, std::byte* out) {
  const std::uint64_t half = layout.group / 2;
  switch (layout.order) {
    case QuantOrder::rows: std::memcpy(out, quants, cols); return;
    case QuantOrder::pairs:
      for (std::uint64_t j = 0; j < cols / 2; ++j) out[j] = pack(quants[2 * j], quants[2 * j + 1]);
      return;
    case QuantOrder::halves:
      for (std::uint64_t begin = 0; begin < cols; begin += layout.group) {
        for (std::uint64_t j = 0; j < half; ++j)
          out[begin / 2 + j] = pack(quants[begin + j], quants[begin + j + half]);
      }
      return;
    case QuantOrder::blocks: break;
  }
  assert(false);
}

void store_lane(const IntGroup& layout, const std::int8_t* quants, std::uint64_t lane, std::uint64_t cols,
                std::byte* block) {
  std::byte* out = block + lane * kUnitCols;
  if (layout.bits == 8) {
    for (std::uint64_t c = 0; c < cols; c += kUnitCols, out += kUnit) std::memcpy(out, quants + c, kUnitCols);
    return;
  }
  for (std::uint64_t c = 0; c < cols; c += 2 * kUnitCols, out += kUnit) {
    for (std::uint64_t j = 0; j < kUnitCols; ++j) out[j] = pack(quants[c + j], quants[c + j + kUnitCols]);
  }
}

}  // namespace

std::optional<IntGroup> int_group(Encoding encoding) {
  switch (encoding) {
    case Encoding::q8_0: return IntGroup{8, 32, QuantOrder::rows};
    case Encoding::int8_g64: return IntGroup{8, 64, QuantOrder::rows};
    case Encoding::int8_g128: return IntGroup{8, 128, QuantOrder::rows};
    case Encoding::int4_g32: return IntGroup{4, 32, QuantOrder::pairs};
    case Encoding::int4_g64: return IntGroup{4, 64, QuantOrder::pairs};
    case Encoding::int4_g128: return IntGroup{4, 128, QuantOrder::pairs};
    case Encoding::q4_0: return IntGroup{4, 32, QuantOrder::halves};
    case Encoding::int4h_g64: return IntGroup{4, 64, QuantOrder::halves};
    case Encoding::int4h_g128: return IntGroup{4, 128, QuantOrder::halves};
    case Encoding::int8r16_g32: return IntGroup{8, 32, QuantOrder::blocks};
    case Encoding::int8r16_g64: return IntGroup{8, 64, QuantOrder::blocks};
    case Encoding::int8r16_g128: return IntGroup{8, 128, QuantOrder::blocks};
    case Encoding::int4r16_g32: return IntGroup{4, 32, QuantOrder::blocks};
    case Encoding::int4r16_g64: return IntGroup{4, 64, QuantOrder::blocks};
    case Encoding::int4r16_g128: return IntGroup{4, 128, QuantOrder::blocks};
    default: return std::nullopt;
  }
}

bool same_quants(Encoding a, Encoding b) {
  const auto one = int_group(a);
  const auto two = int_group(b);
  return one && two && one->bits == two->bits && one->group == two->group;
}

std::uint64_t scale_index(const TensorView& view, std::uint64_t row, std::uint64_t group) {
  const IntGroup layout = *int_group(view.encoding);
  const std::uint64_t n_groups = view.cols / layout.group;
  if (layout.order != QuantOrder::blocks) return row * n_groups + group;
  return (row / kRowBlock * n_groups + group) * kRowBlock + row % kRowBlock;
}

WeightPlace place_of_scale(const TensorView& view, std::uint64_t index) {
  const IntGroup layout = *int_group(view.encoding);
  const std::uint64_t n_groups = view.cols / layout.group;
  if (layout.order != QuantOrder::blocks) return {index / n_groups, index % n_groups * layout.group};
  const std::uint64_t unit = index / kRowBlock;
  return {unit / n_groups * kRowBlock + index % kRowBlock, unit % n_groups * layout.group};
}

WeightPlace place_of_quant(const TensorView& view, std::uint64_t index) {
  const IntGroup layout = *int_group(view.encoding);
  const std::uint64_t row_bytes = view.row_bytes();
  const std::uint64_t row = index / row_bytes;
  const std::uint64_t in_row = index % row_bytes;
  switch (layout.order) {
    case QuantOrder::rows: return {row, in_row};
    case QuantOrder::pairs: return {row, 2 * in_row};
    case QuantOrder::halves: {
      const std::uint64_t half = layout.group / 2;
      return {row, in_row / half * layout.group + in_row % half};
    }
    case QuantOrder::blocks: break;
  }
  const std::uint64_t block_bytes = kRowBlock * row_bytes;
  const std::uint64_t in_block = index % block_bytes;
  const std::uint64_t unit_cols = layout.bits == 8 ? kUnitCols : 2 * kUnitCols;
  return {index / block_bytes * kRowBlock + in_block % kUnit / kUnitCols,
          in_block / kUnit * unit_cols + in_block % kUnitCols};
}

void load_quants(const TensorView& view, std::uint64_t row, std::uint64_t n_rows, std::int8_t* out) {
  const IntGroup layout = *int_group(view.encoding);
  const std::uint64_t row_bytes = view.row_bytes();
  for (std::uint64_t i = 0; i < n_rows; ++i, ++row, out += view.cols) {
    if (layout.order == QuantOrder::blocks) {
      load_lane(layout, view.data.data() + row / kRowBlock * kRowBlock * row_bytes, row % kRowBlock,
                view.cols, out);
    } else {
      load_row(layout, view.data.data() + row * row_bytes, view.cols, out);
    }
  }
}

void store_quants(Encoding encoding, std::span<const std::int8_t> quants, std::byte* out) {
  store_row(*int_group(encoding), quants.data(), quants.size(), out);
}

void decode_row_int_group(const TensorView& view, std::uint64_t row, std::span<float> out) {
  const IntGroup layout = *int_group(view.encoding);
  const std::uint64_t group = layout.group;
  // A piece at a time: no memory of a row's size is needed.
  constexpr std::uint64_t kPiece = 256;
  std::int8_t quants[kPiece];
  const std::uint64_t row_bytes = view.row_bytes();
  for (std::uint64_t begin = 0; begin < view.cols; begin += kPiece) {
    const std::uint64_t n = std::min(kPiece, view.cols - begin);
    if (layout.order == QuantOrder::blocks) {
      const std::byte* block = view.data.data() + row / kRowBlock * kRowBlock * row_bytes;
      load_lane(layout, block + begin * layout.bits / 8 * kRowBlock, row % kRowBlock, n, quants);
    } else {
      load_row(layout, view.data.data() + row * row_bytes + begin * layout.bits / 8, n, quants);
    }
    for (std::uint64_t c = 0; c < n; c += group) {
      const float d = load_scale(view, scale_index(view, row, (begin + c) / group));
      for (std::uint64_t j = 0; j < group; ++j) out[begin + c + j] = static_cast<float>(quants[c + j]) * d;
    }
  }
}

namespace {

// One row by the encoding's rule, its quants as int8. @return the first group whose scale overflows
std::optional<std::uint64_t> quantize_row(const kernels::QuantTable& table, const IntGroup& layout,
                                          ScaleType scale_type, std::span<const float> x, bool round,
                                          std::span<std::byte> packed, std::int8_t* quants, std::byte* scales,
                                          float* d) {
  if (layout.bits == 8) {
    return encode_q8_0(table, x, scale_type, reinterpret_cast<std::byte*>(quants), scales, d, layout.group);
  }
  const auto overflow =
      round ? encode_q4_0_round(table, x, scale_type, packed.data(), scales, d, layout.group)
            : encode_q4_0_search(table, x, nullptr, scale_type, packed.data(), scales, d, layout.group);
  load_row({4, layout.group, QuantOrder::halves}, packed.data(), x.size(), quants);
  return overflow;
}

}  // namespace

std::optional<OverflowPlace> encode_int_group(const kernels::QuantTable& table, Encoding encoding,
                                              ScaleType scale_type, std::span<const float> x,
                                              std::uint64_t cols, bool round, std::byte* data,
                                              std::byte* scales) {
  const IntGroup layout = *int_group(encoding);
  const std::uint64_t n_rows = x.size() / cols;
  const std::uint64_t n_groups = cols / layout.group;
  const std::uint64_t row_bytes = cols * layout.bits / 8;
  const std::uint64_t n_scale_bytes = scale_bytes(scale_type);
  std::vector<std::byte> packed(cols / 2);
  std::vector<std::int8_t> quants(cols);
  std::vector<std::byte> row_scales(n_groups * n_scale_bytes);
  std::vector<float> d(n_groups);
  std::optional<OverflowPlace> overflow;
  for (std::uint64_t row = 0; row < n_rows; ++row) {
    const auto bad = quantize_row(table, layout, scale_type, x.subspan(row * cols, cols), round, packed,
                                  quants.data(), row_scales.data(), d.data());
    if (bad && !overflow) overflow = OverflowPlace{row, *bad};
    if (layout.order != QuantOrder::blocks) {
      store_row(layout, quants.data(), cols, data + row * row_bytes);
      std::memcpy(scales + row * row_scales.size(), row_scales.data(), row_scales.size());
      continue;
    }
    const std::uint64_t block = row / kRowBlock;
    const std::uint64_t lane = row % kRowBlock;
    store_lane(layout, quants.data(), lane, cols, data + block * kRowBlock * row_bytes);
    for (std::uint64_t g = 0; g < n_groups; ++g) {
      std::memcpy(scales + ((block * n_groups + g) * kRowBlock + lane) * n_scale_bytes,
                  row_scales.data() + g * n_scale_bytes, n_scale_bytes);
    }
  }
  return overflow;
}

}  // namespace ml
