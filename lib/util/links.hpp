#pragma once

#include <ml/status.hpp>

#include <string>

namespace ml {

/// @return the folder that a path names a file of: "." where it names none
std::string folder_of(const std::string& path);

/// The file or folder that a chain of symbolic links stands for; it may not exist yet.
///
/// @error io  a link cannot be read, or there are too many
Result<std::string> follow_links(std::string path);

}  // namespace ml
