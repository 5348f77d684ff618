#pragma once

#include "convert/family.hpp"
#include "formats/safetensors.hpp"
#include "util/bytes.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

/// A folder that goes away with the object.
class TempFolder {
 public:
  TempFolder() {
    static int serial = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("mlutils-test-" + std::to_string(::getpid()) + "-" + std::to_string(serial++));
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(file(name), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void remove(const std::string& name) const { std::filesystem::remove(file(name)); }

 private:
  std::filesystem::path path_;
};

/// "one of the supported families: llama, ...": what messages say of the registry.
inline std::string family_list() {
  std::string names;
  for (const ml::Family* family : ml::families())
    names += (names.empty() ? "" : ", ") + std::string(family->name);
  return "one of the supported families: " + names;
}

/// A small Llama checkpoint that tests change before they write it: float32, every element 0.5 unless set.
struct TinyCheckpoint {
  struct Entry {
    std::string dtype = "F32";
    std::vector<std::uint64_t> shape;
    float value = 0.5f;
  };
  nlohmann::json config = {{"architectures", {"LlamaForCausalLM"}},
                           {"model_type", "llama"},
                           {"hidden_size", 64},
                           {"intermediate_size", 96},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 2},
                           {"vocab_size", 40},
                           {"max_position_embeddings", 128},
                           {"rms_norm_eps", 1e-5}};
  std::map<std::string, Entry> tensors;

  TinyCheckpoint() {
    add("model.embed_tokens.weight", {40, 64});
    add("model.norm.weight", {64});
    add("lm_head.weight", {40, 64});
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
      add(layer + "input_layernorm.weight", {64});
      add(layer + "self_attn.q_proj.weight", {64, 64});
      add(layer + "self_attn.k_proj.weight", {32, 64});
      add(layer + "self_attn.v_proj.weight", {32, 64});
      add(layer + "self_attn.o_proj.weight", {64, 64});
      add(layer + "post_attention_layernorm.weight", {64});
      add(layer + "mlp.gate_proj.weight", {96, 64});
      add(layer + "mlp.up_proj.weight", {96, 64});
      add(layer + "mlp.down_proj.weight", {64, 96});
    }
  }

  void add(const std::string& name, std::vector<std::uint64_t> shape, float value = 0.5f,
           std::string dtype = "F32") {
    tensors[name] = {std::move(dtype), std::move(shape), value};
  }

  /// The bytes of a .safetensors with the tensors whose names the filter takes.
  template <class Filter>
  std::string safetensors(const Filter& filter) const {
    std::vector<std::vector<std::byte>> data;
    std::vector<ml::SafetensorsSource> sources;
    data.reserve(tensors.size());
    for (const auto& [name, entry] : tensors) {
      if (!filter(name)) continue;
      std::uint64_t n = 1;
      for (const std::uint64_t dim : entry.shape) n *= dim;
      const std::uint64_t size = ml::find_safetensors_dtype(entry.dtype)->bits / 8;
      data.emplace_back(n * size);
      for (std::uint64_t i = 0; i < n && size == 4; ++i)
        ml::store_le(data.back().data() + 4 * i, entry.value);
      sources.push_back({name, entry.dtype, entry.shape, data.back()});
    }
    const auto bytes = ml::write_safetensors(sources);
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }
  std::string safetensors() const {
    return safetensors([](const std::string&) { return true; });
  }

  void write(const TempFolder& folder) const {
    folder.write("config.json", config.dump());
    folder.write("model.safetensors", safetensors());
  }
};
