#pragma once

#include "catch.hpp"
#include "data.hpp"
#include "formats/safetensors.hpp"
#include "util/bytes.hpp"

#include <algorithm>
#include <string>
#include <vector>

/// One file of golden vectors, its entries by name.
class SeedlmVectors {
 public:
  explicit SeedlmVectors(const std::string& path) : text_(read_file(path)) {
    auto file = ml::read_safetensors(ml::as_bytes(text_));
    REQUIRE(file);
    tensors_ = std::move(file->tensors);
  }

  bool has(const std::string& name) const { return find(name) != tensors_.end(); }
  const ml::SafetensorsTensor& tensor(const std::string& name) const {
    INFO(name);
    REQUIRE(has(name));
    return *find(name);
  }
  std::span<const std::byte> bytes(const std::string& name) const { return tensor(name).data; }
  std::vector<float> floats(const std::string& name) const {
    std::vector<float> values(bytes(name).size() / 4);
    ml::load_le(bytes(name).data(), std::span(values));
    return values;
  }

 private:
  std::vector<ml::SafetensorsTensor>::const_iterator find(const std::string& name) const {
    return std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.name == name; });
  }

  std::string text_;
  std::vector<ml::SafetensorsTensor> tensors_;
};
