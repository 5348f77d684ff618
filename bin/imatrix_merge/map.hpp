#pragma once

#include <ml/imatrix.hpp>

#include <string>

namespace imatrix_merge {

/// Shades of the importance of channels: for each kind of input a row for each layer, channels from left to
/// right.
///
/// @param columns  of the line  @param unicode  shaded blocks; else ASCII
std::string map_text(const ml::Imatrix& imatrix, std::size_t columns, bool unicode);

}  // namespace imatrix_merge
