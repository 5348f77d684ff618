#pragma once

#include <ml/model.hpp>

#include "common/tool.hpp"

#include <string>

namespace cli {

/// Opens a model and notes on stderr what its reader passed over.
///
/// @error  as ml::Model::open(), with the path
ml::Result<ml::Model> open_model(Tool& tool, const std::string& path, const ml::OpenOptions& options = {});

}  // namespace cli
