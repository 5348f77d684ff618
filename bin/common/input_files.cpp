#include "common/input_files.hpp"

#include <filesystem>
#include <system_error>

namespace cli {

std::vector<std::string> input_files(const std::string& input) {
  std::vector<std::string> files{input};
  std::error_code error;
  if (!std::filesystem::is_directory(input, error)) return files;
  for (std::filesystem::directory_iterator entry(input, error), end; !error && entry != end;
       entry.increment(error)) {
    files.push_back(entry->path().string());
  }
  return files;
}

}  // namespace cli
