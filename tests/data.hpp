#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

/// True in a build with AddressSanitizer: there, tests of bits take a sample of the combinations that others
/// take all of.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// A file of tests/data.
inline std::string data_path(const std::string& name) {
  const char* root = std::getenv("ML_TEST_DATA");
  return std::string(root != nullptr ? root : "tests/data") + "/" + name;
}

/// A file of the corpus folder, or "" where that is absent: then a test says what it leaves out.
inline std::string corpus_path(const std::string& name) {
  const char* root = std::getenv("ML_TEST_CORPUS");
  const std::string path = std::string(root != nullptr ? root : "../shared") + "/" + name;
  return std::filesystem::exists(path) ? path : std::string();
}

/// A GGUF file that the build made of a model of tests/data: "llama2-mha-q8_0.gguf".
inline std::string gguf_path(const std::string& name) {
  const char* root = std::getenv("ML_TEST_GGUF");
  return std::string(root != nullptr ? root : "build/tests/formats") + "/" + name;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
