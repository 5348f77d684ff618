// Any bytes as model.safetensors.index.json beside sound shards.

#include "support.hpp"

#include <ml/model.hpp>

#include <filesystem>
#include <fstream>

namespace {

const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "ml-fuzz-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    for (const auto& entry : std::filesystem::directory_iterator(data_folder() / "oracle/mistral-sliding")) {
      if (entry.path().filename() != "model.safetensors.index.json")
        std::filesystem::copy(entry.path(), std::filesystem::path(pattern) / entry.path().filename());
    }
    return pattern;
  }();
  return path;
}

}  // namespace

FUZZ_TARGET(index) {
  std::ofstream(folder() / "model.safetensors.index.json", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto model = ml::Model::open(folder().string());
  if (!model && model.error().message.empty()) std::abort();
  return 0;
}
