#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace cli {

/// The same place, by whatever path and whether there is a file or not.
bool same_path(const std::string& a, const std::string& b);

struct NamedOutput {
  std::string_view option;
  std::string_view path;  // empty: not given
};

/// Two outputs that are one file, of which only the last would be left; devices and pipes can take two.
///
/// @return  what is wrong, or ""
std::string same_output_problem(std::initializer_list<NamedOutput> outputs);

/// "-", a name that the system has for standard output, or any name of the file or pipe that it is. Devices
/// such as /dev/null can take two outputs.
bool names_standard_output(const std::string& path);

}  // namespace cli
