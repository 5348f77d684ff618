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
  q8g64,    ///< affine, 8 bits, groups of 64 (nanoseedlm(5))
  q4g64,    ///< affine, 4 bits, groups of 64
  q4g32,    ///< affine, 4 bits, groups of 32
  seed4p4,  ///< LFSR seeds with 4 coefficients
  seed4,    ///< LFSR seeds with 3 coefficients
  seed6p8,  ///< LFSR seeds with 8 coefficients
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

/// How a quantized tensor stores its scales, where its encoding leaves that open (Q8_0, Q4_0); `none` for all
/// others.
enum class ScaleType : std::uint8_t { none, f32, f16 };

/// Weights that share one scale: 32 consecutive ones of a row (Q8_0, Q4_0).
inline constexpr std::uint32_t kBlock = 32;

/// What the registry knows about an encoding.
struct EncodingInfo {
  Encoding encoding;
  std::string_view name;         ///< "q8_0": as options and reports spell it
  std::uint32_t block_weights;   ///< weights a block; columns must be a multiple of it
  std::uint32_t block_bytes;     ///< bytes a block in TensorView::data
  bool quantized;                ///< has a scale for each block, of any ScaleType
  std::uint32_t block_rows = 1;  ///< rows that are stored together; their number must be a multiple of it
  // Bytes a block in the other spans of a TensorView, where the encoding fixes them.
  std::uint32_t scale_bytes = 0;
  std::uint32_t bias_bytes = 0;
  std::uint32_t seed_bytes = 0;
  bool slice_biases = false;  ///< TensorView::biases holds an I32 for each slice

  /// @return whether products can take activations quantized to Q8_0; those of others take float32
  bool takes_q8() const { return quantized || bias_bytes != 0; }
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
/// What each span holds, row by row; where the registry's block_rows is above 1, so many rows lie interleaved
/// (mog(5), ENCODINGS):
///
/// | encoding | data | scales | biases | seeds |
/// |---|---|---|---|---|
/// | plain | the elements | | | |
/// | Q8_0, Q4_0, integer groups | quants | one for each block of columns, of scale_type | | |
/// | affine | codes, U32 words | BF16, one a group | BF16, one a group | |
/// | seeds | coefficients: U16, SEED6P8 U32 | exponent codes, a nibble a block; SEED4 none | I32, one a slice
/// | U16 |
struct TensorView {
  Encoding encoding = Encoding::f32;
  ScaleType scale_type = ScaleType::none;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::span<const std::byte> data = {};
  std::span<const std::byte> scales = {};
  std::span<const std::byte> biases = {};
  std::span<const std::byte> seeds = {};
  std::uint64_t slice_rows = 0;  ///< rows that share an exponent bias; 0: all

  std::uint64_t n_weights() const { return rows * cols; }
  ML_API std::uint64_t row_bytes() const;        ///< bytes of `data` a row
  ML_API std::uint64_t row_scale_bytes() const;  ///< bytes of `scales` a row
  ML_API std::uint64_t row_bias_bytes()
      const;  ///< bytes of one row in `biases`; 0 where they belong to slices
  ML_API std::uint64_t row_seed_bytes() const;  ///< bytes of one row in `seeds`
  std::uint64_t n_bytes() const { return data.size() + scales.size() + biases.size() + seeds.size(); }

  /// Rows [first, first + n) as a view of their own. A view with slice_rows must not be cut inside a slice.
  ML_API TensorView rows_at(std::uint64_t first, std::uint64_t n) const;
};

/// Decodes one row to the encoding's values: exact in float32 for plain ones; quant * scale, rounded once,
/// for Q8_0 and Q4_0; BF16 values for affine and seed encodings.
///
/// @param view   a valid view; row < view.rows
/// @param out    view.cols floats
ML_API void decode_row(const TensorView& view, std::uint64_t row, std::span<float> out);

/// The same without the last step of affine and seed encodings, the rounding to BF16: what products with
/// float activations use, except for q8g64, whose product uses the BF16 values (nanoseedlm(5), VALUES).
ML_API void decode_row_unrounded(const TensorView& view, std::uint64_t row, std::span<float> out);

}  // namespace ml
