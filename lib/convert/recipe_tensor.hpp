#pragma once

#include <ml/mog.hpp>

#include "convert/recipe_config.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ml {

/// A tensor of a checkpoint with the transforms of a recipe: its rows, in the order and width of a slot.
/// Nothing is copied but an order of rows.
class RecipeTensor {
 public:
  /// @param at  the entry's place, for messages
  /// @error format, shape, unsupported  a transform that is unknown or does not fit, a dtype that is no
  /// weight, a
  ///                                    shape that is not the slot's
  static Result<RecipeTensor> create(const SafetensorsTensor& tensor, const RecipeEntry& entry, MogSlot slot,
                                     const RecipeConfig& config);

  std::uint64_t rows() const { return rows_; }
  std::uint64_t cols() const { return cols_; }

  /// One row as float32. @param out  cols() floats
  void load(std::uint64_t row, std::span<float> out) const;

 private:
  RecipeTensor(const SafetensorsTensor& tensor, const RecipeEntry& entry, MogSlot slot,
               const RecipeConfig& config)
      : data_(tensor.data),
        encoding_(tensor.dtype->encoding.value_or(Encoding::f32)),
        shape_(tensor.shape),
        entry_(&entry),
        slot_(slot),
        config_(&config) {}

  Result<void> apply(const std::string& transform, const std::string& at);
  Result<void> take_rows(std::string_view bounds, std::uint64_t head_rows, const std::string& at);
  Result<void> interleave(const std::string& at);
  void squeeze();
  Result<void> fit();

  std::uint64_t unit() const;  // elements of a row of the first axis
  void make_order();           // gives every row a place of its own
  void decode(std::uint64_t first, std::span<float> out) const;

  std::span<const std::byte> data_;
  Encoding encoding_;
  std::vector<std::uint64_t> shape_;
  std::optional<std::vector<std::uint64_t>>
      order_;  // first element of each row of the first axis; unset: in order
  bool add_one_ = false;
  bool vector_ = false;
  std::uint64_t rows_ = 0;
  std::uint64_t cols_ = 0;
  std::uint64_t source_rows_ = 0;  // fewer where rows of zeros follow
  std::uint64_t source_cols_ = 0;

  // While it is made.
  const RecipeEntry* entry_;
  MogSlot slot_;
  const RecipeConfig* config_;
};

}  // namespace ml
