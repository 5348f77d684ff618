#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace cli {

/// Objects as comma-separated values: a line of names, a line for each object. Names of nested members are
/// joined by "_", null is empty, and an object that lacks a member has an empty cell for it.
///
/// @param leave_out  a member that gets no columns
std::string csv_text(const std::vector<nlohmann::ordered_json>& rows, const std::string& leave_out = {});

}  // namespace cli
