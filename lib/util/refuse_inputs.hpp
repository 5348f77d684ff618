#pragma once

#include <ml/status.hpp>

#include <sys/stat.h>

#include <string>
#include <vector>

// What is read must not be written over, whatever the names: files are compared by device and inode.

namespace ml {

/// @param inputs  paths, "-" for standard input; what is not there is no file
/// @error arg     the file to write is one of them
Result<void> refuse_inputs(const struct stat& target, const std::vector<std::string>& inputs);

/// The same for a path: a file, each file of a folder, or nothing yet.
Result<void> refuse_inputs(const std::string& target, const std::vector<std::string>& inputs);

}  // namespace ml
