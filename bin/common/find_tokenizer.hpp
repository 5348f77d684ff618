#pragma once

#include <string>

namespace cli {

/// The tokenizer of a model: the one in a .mog; else, beside the model, model.mlt or tokenizer.json in its
/// folder; for a file also NAME.mlt.
///
/// @return  its path, or "" where there is none
std::string find_tokenizer(const std::string& model);

}  // namespace cli
