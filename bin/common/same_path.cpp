#include "common/same_path.hpp"

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

bool names_standard_output(const std::string& path) {
  constexpr std::array<std::string_view, 4> kNames{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  return std::find(kNames.begin(), kNames.end(), path) != kNames.end();
}

}  // namespace cli
