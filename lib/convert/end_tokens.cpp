#include <ml/generation.hpp>

#include "convert/config.hpp"
#include "convert/gguf_tokenizer.hpp"
#include "formats/shards.hpp"
#include "util/bytes.hpp"
#include "util/mapped_file.hpp"
#include "util/try.hpp"

#include <filesystem>

namespace ml {

namespace {

constexpr std::string_view kKey = "eos_token_id";

Result<std::vector<std::uint32_t>> read_end_tokens(const std::string& path) {
  ML_TRY(const auto input, InputBytes::open_regular(path, kMaxJsonBytes));
  ML_TRY(const Config config, Config::parse(as_text(input->data()), path));
  return config.one_or_more_counts(kKey);
}

}  // namespace

Result<std::vector<std::uint32_t>> end_tokens(const std::string& path) {
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_regular_file(path, ignored)) {
    ML_TRY(const auto input, InputBytes::open_regular(path));
    if (!is_gguf(input->data())) return std::vector<std::uint32_t>();
    ML_TRY(const GgufFile file, read_gguf(input->data()));
    auto ids = gguf_end_tokens(file);
    if (!ids) return with_path(std::move(ids.error()), path);
    return ids;
  }
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::string file = path_in_folder(path, name);
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    ML_TRY(std::vector<std::uint32_t> ids, read_end_tokens(file));
    if (!ids.empty()) return ids;
  }
  return std::vector<std::uint32_t>();
}

}  // namespace ml
