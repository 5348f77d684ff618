#pragma once

#include "formats/gguf.hpp"
#include "util/bytes.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Small GGUF files in memory, right or wrong at will.
struct GgufBuilder {
  template <class T>
  static std::string le(T value) {
    std::string bytes(sizeof value, '\0');
    ml::store_le(bytes.data(), value);
    return bytes;
  }
  static std::string text(std::string_view string) {
    return le<std::uint64_t>(string.size()) + std::string(string);
  }
  static std::string type(ml::GgufType type) { return le(static_cast<std::uint32_t>(type)); }

  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
  };

  std::uint32_t version = 3;
  std::vector<std::pair<std::string, std::string>> entries;  // key, type and value
  std::vector<Tensor> tensors;
  std::uint64_t alignment = 32;
  std::string data;
  std::string more_entries;  // bytes after the last entry

  void add(const std::string& key, std::uint32_t value) {
    entries.emplace_back(key, type(ml::GgufType::u32) + le(value));
  }
  void add(const std::string& key, float value) {
    entries.emplace_back(key, type(ml::GgufType::f32) + le(value));
  }
  void add(const std::string& key, bool value) {
    entries.emplace_back(key, type(ml::GgufType::boolean) + std::string(1, value ? '\1' : '\0'));
  }
  void add(const std::string& key, const char* value) {
    entries.emplace_back(key, type(ml::GgufType::string) + text(value));
  }
  static std::string array(ml::GgufType element, std::uint64_t n, const std::string& body) {
    return type(ml::GgufType::array) + type(element) + le(n) + body;
  }
  void add(const std::string& key, const std::vector<std::string>& list) {
    std::string body;
    for (const std::string& one : list) body += text(one);
    entries.emplace_back(key, array(ml::GgufType::string, list.size(), body));
  }
  template <class T>
  void add_numbers(const std::string& key, ml::GgufType element, const std::vector<T>& list) {
    std::string body;
    for (const T one : list) body += le(one);
    entries.emplace_back(key, array(element, list.size(), body));
  }
  void set(const std::string& key, std::string value) {
    for (auto& [name, old] : entries) {
      if (name == key) old = std::move(value);
    }
  }
  void erase(const std::string& key) {
    std::erase_if(entries, [&](const auto& entry) { return entry.first == key; });
  }

  std::string head() const {
    std::string out =
        "GGUF" + le(version) + le<std::uint64_t>(tensors.size()) + le<std::uint64_t>(entries.size());
    for (const auto& [key, value] : entries) out += text(key) + value;
    out += more_entries;
    for (const Tensor& tensor : tensors) {
      out += text(tensor.name) + le(static_cast<std::uint32_t>(tensor.dims.size()));
      for (const std::uint64_t dim : tensor.dims) out += le(dim);
      out += le(tensor.type) + le(tensor.offset);
    }
    return out;
  }
  std::string file() const {
    std::string out = head();
    if (tensors.empty()) return out;
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data;
  }
};
