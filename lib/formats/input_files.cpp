#include <ml/inspect.hpp>

#include "formats/gguf_files.hpp"
#include "formats/registry.hpp"
#include "util/mapped_file.hpp"

#include <array>
#include <filesystem>

namespace ml {

namespace {

namespace fs = std::filesystem;

// What tokenizers and chat templates take from beside a file.
constexpr std::array kBeside{"tokenizer_config.json", "config.json", "generation_config.json",
                             "chat_template.jinja", "chat_template.json"};

void add_splits(const std::string& path, std::vector<std::string>& files) {
  const auto input = InputBytes::open_regular(path);
  if (!input || !is_gguf((*input)->data())) return;
  const auto file = read_gguf((*input)->data());
  if (!file) return;
  if (auto splits = gguf_split_paths(*file, path)) {
    for (std::string& split : *splits) files.push_back(std::move(split));
  }
}

}  // namespace

std::vector<std::string> input_files(const std::string& path) {
  std::vector<std::string> files{path};
  std::error_code error;
  if (const std::string folder = model_folder_of(path); !folder.empty()) {
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      files.push_back(entry->path().string());
    }
  } else if (path != "-" && fs::is_regular_file(path, error)) {
    const fs::path beside = fs::path(path).parent_path();
    for (const char* name : kBeside) files.push_back((beside / name).string());
    add_splits(path, files);
  }
  return files;
}

}  // namespace ml
