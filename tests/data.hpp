#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

/// A file of tests/data.
inline std::string data_path(const std::string& name) {
  const char* root = std::getenv("ML_TEST_DATA");
  return std::string(root != nullptr ? root : "tests/data") + "/" + name;
}

/// A file of the corpus folder, or "" where that is absent (then the test skips).
inline std::string corpus_path(const std::string& name) {
  const char* root = std::getenv("ML_TEST_CORPUS");
  const std::string path = std::string(root != nullptr ? root : "../shared") + "/" + name;
  return std::filesystem::exists(path) ? path : std::string();
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
