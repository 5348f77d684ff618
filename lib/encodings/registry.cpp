#include <ml/encoding.hpp>

#include "encodings/affine.hpp"
#include "encodings/int_group.hpp"
#include "encodings/plain.hpp"
#include "encodings/q4_0.hpp"
#include "encodings/q8_0.hpp"
#include "encodings/seed.hpp"

#include <strings.h>

#include <array>
#include <cassert>
#include <string>

namespace ml {

namespace {

using DecodeRow = void (*)(const TensorView&, std::uint64_t row, std::span<float> out);

// In the order of the enum.
constexpr std::array kEncodings{
    EncodingInfo{Encoding::f32, "f32", 1, 4, false},
    EncodingInfo{Encoding::f16, "f16", 1, 2, false},
    EncodingInfo{Encoding::bf16, "bf16", 1, 2, false},
    EncodingInfo{Encoding::q8_0, "q8_0", kBlock, kBlock, true},
    EncodingInfo{Encoding::q4_0, "q4_0", kBlock, kBlock / 2, true},
    EncodingInfo{Encoding::q8g64, "q8g64", 64, 64, false, 1, 2, 2},
    EncodingInfo{Encoding::q4g64, "q4g64", 64, 32, false, 1, 2, 2},
    EncodingInfo{Encoding::q4g32, "q4g32", 32, 16, false, 1, 2, 2},
    // Two blocks of seeds at a time: their exponent codes share a byte.
    EncodingInfo{Encoding::seed4p4, "seed4p4", 16, 4, false, 1, 1, 0, 4, true},
    EncodingInfo{Encoding::seed4, "seed4", 8, 2, false, 1, 0, 0, 2, true},
    EncodingInfo{Encoding::seed6p8, "seed6p8", 16, 8, false, 1, 1, 0, 4, true},
    EncodingInfo{Encoding::int8_g64, "int8_g64", 64, 64, true},
    EncodingInfo{Encoding::int8_g128, "int8_g128", 128, 128, true},
    EncodingInfo{Encoding::int4_g32, "int4_g32", 32, 16, true},
    EncodingInfo{Encoding::int4_g64, "int4_g64", 64, 32, true},
    EncodingInfo{Encoding::int4_g128, "int4_g128", 128, 64, true},
    EncodingInfo{Encoding::int4h_g64, "int4h_g64", 64, 32, true},
    EncodingInfo{Encoding::int4h_g128, "int4h_g128", 128, 64, true},
    EncodingInfo{Encoding::int8r16_g32, "int8r16_g32", 32, 32, true, kRowBlock},
    EncodingInfo{Encoding::int8r16_g64, "int8r16_g64", 64, 64, true, kRowBlock},
    EncodingInfo{Encoding::int8r16_g128, "int8r16_g128", 128, 128, true, kRowBlock},
    EncodingInfo{Encoding::int4r16_g32, "int4r16_g32", 32, 16, true, kRowBlock},
    EncodingInfo{Encoding::int4r16_g64, "int4r16_g64", 64, 32, true, kRowBlock},
    EncodingInfo{Encoding::int4r16_g128, "int4r16_g128", 128, 64, true, kRowBlock},
};

struct Decoders {
  DecodeRow values;
  DecodeRow unrounded;
};
constexpr std::array<Decoders, kEncodings.size()> kDecoders{{
    {decode_row_f32, decode_row_f32},
    {decode_row_f16, decode_row_f16},
    {decode_row_bf16, decode_row_bf16},
    {decode_row_q8_0, decode_row_q8_0},
    {decode_row_q4_0, decode_row_q4_0},
    {decode_row_affine<8, 64, true>, decode_row_affine<8, 64, false>},
    {decode_row_affine<4, 64, true>, decode_row_affine<4, 64, false>},
    {decode_row_affine<4, 32, true>, decode_row_affine<4, 32, false>},
    {decode_row_seed4p4<true>, decode_row_seed4p4<false>},
    {decode_row_seed4<true>, decode_row_seed4<false>},
    {decode_row_seed6p8<true>, decode_row_seed6p8<false>},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
    {decode_row_int_group, decode_row_int_group},
}};

std::span<const std::byte> rows_of(std::span<const std::byte> bytes, std::uint64_t row_bytes,
                                   std::uint64_t first, std::uint64_t n) {
  return bytes.subspan(first * row_bytes, n * row_bytes);
}

}  // namespace

std::span<const EncodingInfo> encodings() { return kEncodings; }

const EncodingInfo& encoding_info(Encoding encoding) {
  return kEncodings[static_cast<std::size_t>(encoding)];
}

std::optional<Encoding> find_encoding(std::string_view name) {
  const std::string wanted(name);
  for (const EncodingInfo& info : kEncodings) {
    if (wanted.size() == info.name.size() &&
        ::strcasecmp(wanted.c_str(), std::string(info.name).c_str()) == 0) {
      return info.encoding;
    }
  }
  return std::nullopt;
}

std::string_view scale_type_name(ScaleType type) {
  switch (type) {
    case ScaleType::none: return "none";
    case ScaleType::f32: return "f32";
    case ScaleType::f16: return "f16";
  }
  return "none";
}

std::uint32_t scale_bytes(ScaleType type) {
  switch (type) {
    case ScaleType::none: return 0;
    case ScaleType::f32: return 4;
    case ScaleType::f16: return 2;
  }
  return 0;
}

std::uint64_t TensorView::row_bytes() const {
  const EncodingInfo& info = encoding_info(encoding);
  return cols / info.block_weights * info.block_bytes;
}

std::uint64_t TensorView::row_scale_bytes() const {
  const EncodingInfo& info = encoding_info(encoding);
  return cols / info.block_weights * (info.scale_bytes != 0 ? info.scale_bytes : scale_bytes(scale_type));
}

std::uint64_t TensorView::row_bias_bytes() const {
  const EncodingInfo& info = encoding_info(encoding);
  return cols / info.block_weights * info.bias_bytes;
}

std::uint64_t TensorView::row_seed_bytes() const {
  const EncodingInfo& info = encoding_info(encoding);
  return cols / info.block_weights * info.seed_bytes;
}

TensorView TensorView::rows_at(std::uint64_t first, std::uint64_t n) const {
  assert(first + n <= rows && (slice_rows == 0 || first % slice_rows == 0));
  TensorView part = *this;
  part.rows = n;
  part.data = rows_of(data, row_bytes(), first, n);
  part.scales = rows_of(scales, row_scale_bytes(), first, n);
  part.seeds = rows_of(seeds, row_seed_bytes(), first, n);
  if (!encoding_info(encoding).slice_biases) {
    part.biases = rows_of(biases, row_bias_bytes(), first, n);
  } else if (slice_rows != 0) {
    part.biases = biases.subspan(first / slice_rows * 4);
  }
  return part;
}

void decode_row(const TensorView& view, std::uint64_t row, std::span<float> out) {
  assert(row < view.rows && out.size() >= view.cols);
  kDecoders[static_cast<std::size_t>(view.encoding)].values(view, row, out);
}

void decode_row_unrounded(const TensorView& view, std::uint64_t row, std::span<float> out) {
  assert(row < view.rows && out.size() >= view.cols);
  kDecoders[static_cast<std::size_t>(view.encoding)].unrounded(view, row, out);
}

}  // namespace ml
