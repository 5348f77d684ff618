#include "util/refuse_inputs.hpp"

#include "util/try.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>
#include <map>
#include <utility>

namespace ml {

namespace {

class Inputs {
 public:
  explicit Inputs(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      struct stat info;
      const int status = path == "-" ? ::fstat(STDIN_FILENO, &info) : ::stat(path.c_str(), &info);
      if (status == 0) path_of_.emplace(std::pair(info.st_dev, info.st_ino), path);
    }
  }

  Result<void> refuse(const struct stat& target) const {
    if (!S_ISREG(target.st_mode) && !S_ISBLK(target.st_mode)) return {};
    const auto found = path_of_.find({target.st_dev, target.st_ino});
    if (found == path_of_.end()) return {};
    return Error{.status = Status::arg,
                 .message = fmt::format("output and input {} are the same file",
                                        found->second == "-" ? "(standard input)" : found->second)};
  }

 private:
  std::map<std::pair<dev_t, ino_t>, std::string> path_of_;
};

}  // namespace

Result<void> refuse_inputs(const struct stat& target, const std::vector<std::string>& inputs) {
  return Inputs(inputs).refuse(target);
}

Result<void> refuse_inputs(const std::string& target, const std::vector<std::string>& inputs) {
  std::vector<std::string> files{target};
  std::error_code error;
  for (std::filesystem::directory_iterator entry(target, error), end; !error && entry != end;
       entry.increment(error)) {
    files.push_back(entry->path().string());
  }
  const Inputs known(inputs);
  for (const std::string& file : files) {
    struct stat info;
    if (::stat(file.c_str(), &info) != 0) continue;
    if (auto fine = known.refuse(info); !fine) return with_path(std::move(fine.error()), file);
  }
  return {};
}

}  // namespace ml
