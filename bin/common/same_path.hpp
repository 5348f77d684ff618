#pragma once

#include <string>

namespace cli {

/// The same place, by whatever path and whether there is a file or not.
bool same_path(const std::string& a, const std::string& b);

/// "-", a name that the system has for standard output, or any name of the file or pipe that it is. Devices
/// such as /dev/null can take two outputs.
bool names_standard_output(const std::string& path);

}  // namespace cli
