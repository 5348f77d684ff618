// A checkpoint folder: config.json, a zero byte, then model.safetensors.

#include "support.hpp"

#include <ml/model.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace {

const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "ml-fuzz-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    return pattern;
  }();
  return path;
}

void put(const char* name, std::span<const std::uint8_t> bytes) {
  std::ofstream(folder() / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

FUZZ_TARGET(checkpoint) {
  const std::span<const std::uint8_t> bytes(data, size);
  const auto zero = std::find(bytes.begin(), bytes.end(), std::uint8_t(0));
  if (zero == bytes.end()) return 0;
  const auto config_size = static_cast<std::size_t>(zero - bytes.begin());
  put("config.json", bytes.first(config_size));
  put("model.safetensors", bytes.subspan(config_size + 1));
  (void)static_cast<bool>(ml::Model::open(folder().string()));
  return 0;
}
