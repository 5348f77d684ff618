#pragma once

// Integers with a scale for each group of a row (mog(5), ENCODINGS). A weight is q * d; q is -127 .. 127 in 8
// bits, or -8 .. 7 stored as q + 8 in 4 bits. The encodings differ in the length of a group and in the order
// of the quants:
//
//   rows     8 bits: row-major, as Q8_0
//   pairs    4 bits: byte j of a row holds element 2j low, 2j + 1 high
//   halves   4 bits: inside each group byte j holds element j low, j + group / 2 high, as Q4_0
//   blocks   16 rows at a time; a unit of 64 bytes holds 4 consecutive columns of each row, in row order:
//            8 bits: those 4 elements; 4 bits: of 8 columns c low and c + 4 high
//
// Scales are row-major, one a group; in `blocks` each group has the scales of its 16 rows side by side.
// Q8_0 is 8 bits in rows, Q4_0 is 4 bits in halves, both with groups of 32.

#include <ml/encoding.hpp>

#include "encodings/q4_0.hpp"

#include <optional>
#include <span>

namespace ml {

enum class QuantOrder : std::uint8_t { rows, pairs, halves, blocks };

/// Rows that `blocks` stores together.
inline constexpr std::uint32_t kRowBlock = 16;

struct IntGroup {
  std::uint32_t bits;   ///< 8 or 4
  std::uint32_t group;  ///< 32, 64 or 128
  QuantOrder order;

  std::uint32_t block_rows() const { return order == QuantOrder::blocks ? kRowBlock : 1; }
};

/// @return what an encoding of this kind is made of (Q8_0 and Q4_0 too), or nothing
std::optional<IntGroup> int_group(Encoding encoding);

/// @return whether both store the same quants and scales, in any order: from one to the other nothing changes
bool same_quants(Encoding a, Encoding b);

void decode_row_int_group(const TensorView& view, std::uint64_t row, std::span<float> out);

/// The quants of rows [row, row + n_rows) as int8, row-major.
///
/// @param out  n_rows x view.cols
void load_quants(const TensorView& view, std::uint64_t row, std::uint64_t n_rows, std::int8_t* out);

/// Stores the quants of one row, int8, as an encoding whose rows are stored by themselves has them.
///
/// @param out  quants.size() x bits / 8 bytes
void store_quants(Encoding encoding, std::span<const std::int8_t> quants, std::byte* out);

/// Where the scale of a group lies among a tensor's scales.
std::uint64_t scale_index(const TensorView& view, std::uint64_t row, std::uint64_t group);

/// Row and column of the weight whose quant, or whose group's scale, is number `index` in the tensor's memory
/// (a quant of 4 bits: the low one of byte `index`).
struct WeightPlace {
  std::uint64_t row;
  std::uint64_t col;
};
WeightPlace place_of_quant(const TensorView& view, std::uint64_t index);
WeightPlace place_of_scale(const TensorView& view, std::uint64_t index);

/// Encodes consecutive rows: by the Q8_0 rule, or a rule of Q4_0 (search unless `round`), over the group's
/// length.
///
/// @param x       n_rows x cols finite floats, n_rows a multiple of block_rows(), cols of the group
/// @param data    n_rows x cols x bits / 8 bytes
/// @param scales  a scale of that type for each group
/// @return        the first group whose scale overflows (the output means nothing), if any
struct OverflowPlace {
  std::uint64_t row;  ///< counted in x
  std::uint64_t group;
};
std::optional<OverflowPlace> encode_int_group(const kernels::QuantTable& table, Encoding encoding,
                                              ScaleType scale_type, std::span<const float> x,
                                              std::uint64_t cols, bool round, std::byte* data,
                                              std::byte* scales);

}  // namespace ml
