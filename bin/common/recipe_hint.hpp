#pragma once

#include <ml/status.hpp>

#include <string>
#include <string_view>

namespace cli {

/// A recipe that came with the tools has no checkpoint beside it, where its files are looked for: says what
/// names the checkpoint.
///
/// @param root  the folder that was named, "" for none
/// @param hint  "--root names the folder of the checkpoint"
/// @return      the error, with the hint where a file beside the recipe cannot be opened and no folder was
/// named
ml::Error with_root_hint(ml::Error error, const std::string& recipe, const std::string& root,
                         std::string_view hint);

}  // namespace cli
