#pragma once

#include <ml/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ml {

/// How the weights of one tensor are stored. One row of the registry (encodings/registry.cpp) each.
enum class Encoding : std::uint8_t {
  f32,
  f16,
  bf16,
  q8_0,
  q4_0,
  // Integers with a scale for each group of 32, 64 or 128 weights (mog(5), ENCODINGS). Two of them have names
  // of their own: int8_g32 is q8_0, int4h_g32 is q4_0.
  int8_g64,
  int8_g128,
  int4_g32,
  int4_g64,
  int4_g128,
  int4h_g64,
  int4h_g128,
  int8r16_g32,
  int8r16_g64,
  int8r16_g128,
  int4r16_g32,
  int4r16_g64,
  int4r16_g128,
};

/// How a quantized tensor stores its scales. `none` for encodings without scales.
enum class ScaleType : std::uint8_t { none, f32, f16 };

/// Weights that share one scale: 32 consecutive ones of a row (Q8_0, Q4_0).
inline constexpr std::uint32_t kBlock = 32;

/// What the registry knows about an encoding.
struct EncodingInfo {
  Encoding encoding;
  std::string_view name;         ///< "q8_0": as options and reports spell it
  std::uint32_t block_weights;   ///< weights a block; columns must be a multiple of it
  std::uint32_t block_bytes;     ///< bytes a block without its scale
  bool quantized;                ///< has scales, and takes Q8 activations
  std::uint32_t block_rows = 1;  ///< rows that are stored together; their number must be a multiple of it
};

/// @return every encoding, in the order of the enum
ML_API std::span<const EncodingInfo> encodings();

/// @return the registry's row for an encoding
ML_API const EncodingInfo& encoding_info(Encoding encoding);

/// @return the encoding of that name in any letter case, or nothing
ML_API std::optional<Encoding> find_encoding(std::string_view name);

ML_API std::string_view scale_type_name(ScaleType type);

/// @return bytes of a scale: 4, 2, or 0 for none
ML_API std::uint32_t scale_bytes(ScaleType type);

/// A matrix (or, with rows = 1, a vector) where it lies: nothing is copied, data may be unaligned.
///
/// Row r, column c of a plain encoding is element r * cols + c of `data`. A quantized matrix keeps its
/// quants in `data` and its scales, one for each block of columns, row by row, in `scales`. Where the
/// registry's block_rows is above 1, so many rows lie interleaved (mog(5), ENCODINGS).
struct TensorView {
  Encoding encoding = Encoding::f32;
  ScaleType scale_type = ScaleType::none;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::span<const std::byte> data = {};
  std::span<const std::byte> scales = {};

  std::uint64_t n_weights() const { return rows * cols; }
  ML_API std::uint64_t row_bytes() const;        ///< bytes of `data` a row
  ML_API std::uint64_t row_scale_bytes() const;  ///< bytes of `scales` a row
  std::uint64_t n_bytes() const { return data.size() + scales.size(); }
};

/// Decodes one row to float32, exactly (Q8_0, Q4_0: quant * scale, rounded once).
///
/// @param view   a valid view; row < view.rows
/// @param out    view.cols floats
ML_API void decode_row(const TensorView& view, std::uint64_t row, std::span<float> out);

}  // namespace ml
