#include "common/same_path.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace cli {

bool same_path(const std::string& a, const std::string& b) {
  const auto place = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return place(a) == place(b);
}

std::string same_output_problem(std::initializer_list<NamedOutput> outputs) {
  const auto keeps_bytes = [](const std::string& path) {
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();
    return type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::regular;
  };
  for (const NamedOutput* a = outputs.begin(); a != outputs.end(); ++a) {
    const std::string path(a->path);
    if (path.empty() || path == "-" || !keeps_bytes(path)) continue;
    for (const NamedOutput* b = a + 1; b != outputs.end(); ++b) {
      if (!b->path.empty() && same_path(path, std::string(b->path)))
        return fmt::format("{} and {} name the same file", a->option, b->option);
    }
  }
  return "";
}

bool names_standard_output(const std::string& path) {
  constexpr std::array<std::string_view, 4> kNames{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  if (std::find(kNames.begin(), kNames.end(), path) != kNames.end()) return true;
  struct stat named;
  struct stat output;
  if (::stat(path.c_str(), &named) != 0 || ::fstat(STDOUT_FILENO, &output) != 0) return false;
  const bool shared = S_ISREG(output.st_mode) || S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode);
  return shared && named.st_dev == output.st_dev && named.st_ino == output.st_ino;
}

}  // namespace cli
