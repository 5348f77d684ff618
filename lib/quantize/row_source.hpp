#pragma once

#include <ml/model.hpp>

#include "kernels/quant_table.hpp"

#include <cstdint>
#include <span>

namespace ml {

/// The rows of a source tensor in the order and width in which a .mlb stores them: rotate-half heads
/// reordered to interleaved pairs, zeros where hidden_dim grew.
class RowSource {
 public:
  /// @param cols   columns of the result, at least those of the tensor
  RowSource(const ModelDesc& desc, const Tensor& tensor, std::uint64_t cols,
            const kernels::QuantTable& table);

  /// The tensor's own row that becomes row `row`; kNone for a row of zeros.
  std::uint64_t source_row(std::uint64_t row) const;
  static constexpr std::uint64_t kNone = UINT64_MAX;

  /// Row `row` as float32. @param out  cols() floats  @param spare  as many, overwritten
  void load(std::uint64_t row, std::span<float> out, std::span<float> spare) const;

  /// Rows as they lie in the source: float32 in this order and width, in whole blocks; else empty.
  std::span<const float> in_place(std::uint64_t row, std::uint64_t n_rows) const;

  const TensorView& view() const { return view_; }
  std::uint64_t cols() const { return cols_; }

 private:
  void decode(std::uint64_t row, std::span<float> out) const;

  const TensorView& view_;
  const kernels::QuantTable& table_;
  std::uint64_t cols_;
  std::uint64_t head_dim_ = 0;  // 0: rows stay in order
  std::uint64_t rot_dim_ = 0;
  bool permute_elements_ = false;  // a vector: its elements are what a matrix's rows are
};

}  // namespace ml
