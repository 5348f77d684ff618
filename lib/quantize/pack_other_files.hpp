#pragma once

#include "quantize/seed_pack_plan.hpp"

#include <memory>
#include <string>
#include <string_view>

// What a packed folder holds beside its shards: config.json, the index, copies of tokenizer and loader.

namespace ml {

/// True for a name that is one of the folder's own, so that no loader can have it.
bool is_file_of_folder(std::string_view name);

/// Sets config, copies, owned and their part of the report.
///
/// @error format  a config.json that is none
/// @error io, limit  a file to copy that cannot be read, is no regular file or is very large
Result<void> find_other_files(const std::string& input, const SeedPackOptions& options, PackPlan& plan);

/// Opens one of PackPlan::copies.
Result<std::shared_ptr<const InputBytes>> open_copied(const std::string& path);

}  // namespace ml
