#pragma once

// Passes over the contents of tensors at the speed of memory: values that no weight may have, padding that is
// not zero.

#include <ml/encoding.hpp>
#include <ml/mlb.hpp>
#include <ml/status.hpp>

#include <string>
#include <vector>

namespace ml {

enum class ValueRule : std::uint8_t {
  quants,  ///< of 8 bits: none is -128
  f32_scales,
  f16_scales,
  f32_values,
  f16_values,
  bf16_values,
  padding,
};

/// One stretch of a file and what must hold there.
struct Stretch {
  ValueRule rule;
  std::uint64_t offset;
  std::uint64_t n_bytes;
  TensorView view;   ///< says which weight a byte belongs to
  std::string name;  ///< of the tensor
};

/// Appends what must hold for a tensor's quants or values, and for its scales.
void add_value_stretches(const TensorView& view, std::uint64_t offset, std::uint64_t scale_offset,
                         const std::string& name, std::vector<Stretch>& stretches);

/// Appends zeros in [begin, end); nothing where that is empty.
void add_padding_stretch(std::uint64_t begin, std::uint64_t end, const std::string& name,
                         std::vector<Stretch>& stretches);

/// @param threads  0: all cores; the result does not depend on it
/// @return         the first defect of each stretch that has one
std::vector<Error> find_value_defects(std::span<const std::byte> bytes, std::span<const Stretch> stretches,
                                      unsigned threads, const ReadProgress& progress = {});

}  // namespace ml
