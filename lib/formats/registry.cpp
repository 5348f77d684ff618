#include "formats/registry.hpp"

#include "evaluation/logits_file_bytes.hpp"
#include "formats/folder.hpp"
#include "formats/gguf.hpp"
#include "formats/gguf_model.hpp"
#include "formats/imatrix.hpp"
#include "formats/inspect.hpp"
#include "formats/mlb.hpp"
#include "formats/mlt.hpp"
#include "formats/mog.hpp"
#include "formats/mog_read.hpp"
#include "formats/safetensors.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

#include <ml/logits_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace ml {

namespace {

using Bytes = std::span<const std::byte>;

bool starts_with(Bytes bytes, std::string_view magic) { return as_text(bytes).starts_with(magic); }

bool is_logits(Bytes bytes) { return starts_with(bytes, "MLL1"); }

bool looks_like_json(Bytes bytes) {
  const std::string_view text = as_text(bytes);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

// In the order in which they are tried: magic first, then what only looks like one.
constexpr std::array kFormats{
    Format{"mlb",
           "a .mlb model",
           [](Bytes b) { return starts_with(b, "MLB1"); },
           [](std::shared_ptr<const InputBytes> input, const std::string&, const OpenOptions& options) {
             return open_mlb(std::move(input), options);
           },
           {},
           {},
           inspect_mlb,
           mlb_file_bytes},
    Format{"mlt", "a .mlt tokenizer", [](Bytes b) { return starts_with(b, "MLT1"); }, nullptr, Status::format,
           "which is no model", inspect_mlt},
    Format{"mli1", "an MLI1 importance matrix", [](Bytes b) { return starts_with(b, "MLI1"); }, nullptr,
           Status::format, "which is no model", inspect_imatrix, imatrix_file_bytes},
    Format{"mll1", "an MLL1 logit file", is_logits, nullptr, Status::format, "which is no model",
           inspect_logits, logits_file_bytes},
    Format{"mls1", "an MLS1 session of ml-run", [](Bytes b) { return starts_with(b, "MLS1"); }, nullptr,
           Status::format, "which is no model", inspect_session},
    Format{"mog",
           "a .mog model",
           [](Bytes b) {
             return starts_with(b, {"MOG\0", 4});
           },
           [](std::shared_ptr<const InputBytes> input, const std::string&, const OpenOptions& options) {
             return open_mog(std::move(input), options);
           },
           {},
           {},
           inspect_mog,
           mog_file_bytes},
    Format{"gguf", "a GGUF model", is_gguf, open_gguf, {}, {}, inspect_gguf},
    Format{"safetensors", "a bare safetensors file", looks_like_safetensors, nullptr, Status::unsupported,
           "which says nothing of the model: give the folder that holds it and its config.json",
           inspect_safetensors},
    Format{"json", "a JSON file", looks_like_json, nullptr, Status::unsupported,
           "which is no model: give the folder that holds its config.json", nullptr},
};

// "4d 4c 42 32 (MLB2)"
std::string first_bytes(Bytes bytes) {
  bytes = bytes.first(std::min<std::size_t>(bytes.size(), 8));
  std::string text;
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    text += c >= ' ' && c <= '~' ? c : '.';
  }
  std::vector<unsigned> values;
  for (const std::byte byte : bytes) values.push_back(std::to_integer<unsigned>(byte));
  return fmt::format("{:02x} ({})", fmt::join(values, " "), text);
}

Result<const Format*> model_format(Bytes bytes) {
  ML_TRY(const Format* format, sniff_format(bytes));
  if (format->open != nullptr) return format;
  return Error{.status = format->not_open,
               .message = fmt::format("file is {}, {}", format->title, format->why_not_open)};
}

Result<std::uint64_t> model_start(Bytes start) {
  ML_TRY(const Format* format, model_format(start));
  return format->most_bytes(start);
}

Result<std::uint64_t> model_or_logits_start(Bytes start) {
  return is_logits(start) ? format_start(start) : model_start(start);
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

Result<const Format*> sniff_format(Bytes bytes) {
  if (bytes.empty()) return Error{.status = Status::format, .message = "file is empty", .offset = 0};
  for (const Format& format : kFormats) {
    if (format.matches(bytes)) return &format;
  }
  const std::string_view start = bytes.size() < 8 ? "holds only" : "starts with";
  return Error{.status = Status::format,
               .message = fmt::format("file {} {}, as no known format does", start, first_bytes(bytes)),
               .offset = 0};
}

std::uint64_t Format::most_bytes(Bytes start) const {
  constexpr std::uint64_t kSlack = std::uint64_t(1) << 20;  // a few bytes too many are the reader's to name
  const auto n_bytes = file_bytes == nullptr ? std::nullopt : file_bytes(start);
  return n_bytes && *n_bytes < kNoMaxBytes - kSlack ? *n_bytes + kSlack : kNoMaxBytes;
}

Result<std::uint64_t> format_start(Bytes start) {
  ML_TRY(const Format* format, sniff_format(start));
  return format->most_bytes(start);
}

std::string model_folder_of(const std::string& path) {
  if (path == "-") return {};
  const std::filesystem::path as_path(path);
  if (as_path.filename() == "config.json") {
    return as_path.has_parent_path() ? as_path.parent_path().string() : ".";
  }
  std::error_code error;
  return std::filesystem::is_directory(as_path, error) ? path : std::string();
}

Result<Model> open_model(std::shared_ptr<const InputBytes> input, const std::string& path,
                         const OpenOptions& options) {
  const auto format = model_format(input->data());
  if (!format) return with_path(format.error(), path);
  auto model = (*format)->open(std::move(input), path, options);
  if (!model) return with_path(std::move(model.error()), path);
  model->format_ = (*format)->name;
  return model;
}

Result<Model> Model::open(const std::string& path, const OpenOptions& options) {
  if (const std::string folder = model_folder_of(path); !folder.empty()) {
    auto model = open_folder(folder, options);
    if (model) model->format_ = "folder";
    return model;
  }
  ML_TRY(auto input, InputBytes::open(path, {}, model_start));
  return open_model(std::move(input), path, options);
}

Result<ModelOrLogits> open_model_or_logits(const std::string& path, const OpenOptions& options) {
  if (!model_folder_of(path).empty()) {
    ML_TRY(Model model, Model::open(path, options));
    return ModelOrLogits(std::move(model));
  }
  ML_TRY(auto input, InputBytes::open(path, {}, model_or_logits_start));
  if (is_logits(input->data())) {
    ML_TRY(LogitsFile file, LogitsFile::open(std::move(input), path));
    return ModelOrLogits(std::move(file));
  }
  ML_TRY(Model model, open_model(std::move(input), path, options));
  return ModelOrLogits(std::move(model));
}

}  // namespace ml
