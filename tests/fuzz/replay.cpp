// Runs fuzz targets over files, without a fuzzer: seeds that once were finds, or stand for a kind of file.
//
//   fuzz-replay FOLDER          every file FOLDER/TARGET/NAME
//   fuzz-replay TARGET FILE...

#include "support.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

bool run(const std::string& name, const std::filesystem::path& path) {
  const auto& targets = fuzz_targets();
  const auto target = targets.find(name);
  if (target == targets.end()) {
    std::fprintf(stderr, "fuzz-replay: no target '%s'\n", name.c_str());
    return false;
  }
  // What crashes has been named.
  std::printf("%s %s\n", name.c_str(), path.filename().c_str());
  std::fflush(stdout);
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    std::fprintf(stderr, "fuzz-replay: cannot read %s\n", path.c_str());
    return false;
  }
  // As much memory as there are bytes, so that a sanitizer sees one read too many.
  std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
  return target->second(data.data(), data.size()) == 0;
}

std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

int main(int argc, char** argv) {
  bool good = argc > 1;
  for (int i = 2; i < argc; ++i) good = run(argv[1], argv[i]) && good;
  if (argc != 2) return good ? 0 : 1;
  std::size_t n = 0;
  for (const auto& folder : sorted_entries(argv[1])) {
    for (const auto& path : sorted_entries(folder)) {
      good = run(folder.filename().string(), path) && good;
      ++n;
    }
  }
  return good && n > 0 ? 0 : 1;
}
