#include <ml/encoding.hpp>

#include "encodings/int_group.hpp"
#include "encodings/plain.hpp"
#include "encodings/q4_0.hpp"
#include "encodings/q8_0.hpp"

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
constexpr std::array<DecodeRow, kEncodings.size()> kDecodeRow{
    decode_row_f32,       decode_row_f16,       decode_row_bf16,      decode_row_q8_0,
    decode_row_q4_0,      decode_row_int_group, decode_row_int_group, decode_row_int_group,
    decode_row_int_group, decode_row_int_group, decode_row_int_group, decode_row_int_group,
    decode_row_int_group, decode_row_int_group, decode_row_int_group, decode_row_int_group,
    decode_row_int_group, decode_row_int_group,
};

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
  return cols / encoding_info(encoding).block_weights * scale_bytes(scale_type);
}

void decode_row(const TensorView& view, std::uint64_t row, std::span<float> out) {
  assert(row < view.rows && out.size() >= view.cols);
  kDecodeRow[static_cast<std::size_t>(view.encoding)](view, row, out);
}

}  // namespace ml
