#include "formats/nanoseed_layout.hpp"

#include "encodings/seed.hpp"
#include "formats/safetensors.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/json.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <numeric>

namespace ml {

namespace {

constexpr std::uint64_t kPage = 16384;
constexpr std::string_view kWeight = ".weight";

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string without_weight(const std::string& name) {
  return name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size()) : name;
}

using Shape64 = std::vector<std::uint64_t>;

Shape64 with_cols(Shape64 shape, std::uint64_t cols) {
  shape.back() = cols;
  return shape;
}

// The entries of an encoded tensor, in the order of the format.
std::vector<LayoutEntry> encoded_entries(const LayoutTensor& tensor, std::uint32_t index) {
  const EncodingInfo& info = encoding_info(tensor.encoding);
  const std::string base = without_weight(tensor.name);
  const std::uint64_t cols = tensor.shape.back();
  std::vector<LayoutEntry> entries;
  const auto add = [&](std::string name, std::string_view dtype, Shape64 shape, EntryPart part) {
    entries.push_back(
        {.name = std::move(name), .dtype = dtype, .shape = std::move(shape), .tensor = index, .part = part});
  };
  if (info.seed_bytes == 0) {
    const Shape64 groups = with_cols(tensor.shape, cols / info.block_weights);
    add(tensor.name, "U32", with_cols(tensor.shape, cols / info.block_weights * info.block_bytes / 4),
        EntryPart::data);
    add(base + ".scales", "BF16", groups, EntryPart::scales);
    add(base + ".biases", "BF16", groups, EntryPart::biases);
    return entries;
  }
  Shape64 blocks = with_cols(tensor.shape, cols / kSeedBlock);
  if (blocks.size() == 2) blocks.insert(blocks.begin(), 1);  // seeds always have slices
  const bool three = tensor.encoding == Encoding::seed4;
  add(base + ".seeds", "U16", blocks, EntryPart::seeds);
  add(base + (three ? ".nibbles" : ".coefs"), "U16", blocks, EntryPart::data);
  add(base + ".exp_bias", "I32", {blocks[0]}, EntryPart::biases);
  if (!three) add(base + ".codes", "U8", with_cols(blocks, blocks.back() / 2), EntryPart::scales);
  return entries;
}

Result<std::vector<LayoutEntry>> entries_of(const LayoutTensor& tensor, std::uint32_t index) {
  std::vector<LayoutEntry> entries;
  if (!tensor.dtype.empty()) {
    entries.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .tensor = index});
  } else {
    entries = encoded_entries(tensor, index);
  }
  for (LayoutEntry& entry : entries) {
    Checked bits = find_safetensors_dtype(entry.dtype)->bits;
    for (const std::uint64_t dim : entry.shape) bits = bits * dim;
    if (!bits.get())
      return Error{
          .status = Status::shape, .message = "size overflows 64 bits", .tensor = show_name(entry.name)};
    entry.n_bytes = *bits.get() / 8;
  }
  return entries;
}

// Offsets from the start of the data.
std::uint64_t place(std::vector<LayoutEntry>& entries) {
  std::uint64_t end = 0;
  for (const bool pages : {true, false}) {
    for (LayoutEntry& entry : entries) {
      if ((entry.n_bytes % kPage == 0) != pages) continue;
      entry.offset = end;
      end += entry.n_bytes;
    }
  }
  return end;
}

void finish(LayoutShard& shard, std::span<const std::pair<std::string, std::string>> metadata) {
  const std::uint64_t n_data = place(shard.entries);
  std::string text = R"({"__metadata__": {"format": "mlx")";
  for (const auto& [key, value] : metadata) text += fmt::format(", {}: {}", quoted(key), quoted(value));
  text += '}';
  for (const LayoutEntry& entry : shard.entries) {
    text +=
        fmt::format(R"(, {}: {{"dtype": "{}", "shape": [{}], "data_offsets": [{}, {}]}})", quoted(entry.name),
                    entry.dtype, fmt::join(entry.shape, ", "), entry.offset, entry.offset + entry.n_bytes);
  }
  text += '}';
  const std::uint64_t header = (8 + text.size() + kPage - 1) / kPage * kPage;
  text.resize(header - 8, ' ');
  shard.header.resize(8);
  store_le<std::uint64_t>(shard.header.data(), text.size());
  shard.header += text;
  for (LayoutEntry& entry : shard.entries) entry.offset += header;
  shard.n_bytes = header + n_data;
}

std::string index_text(const Layout& layout) {
  std::string text = fmt::format(
      "{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{", layout.n_entry_bytes);
  bool first = true;
  for (const LayoutShard& shard : layout.shards) {
    for (const LayoutEntry& entry : shard.entries) {
      text += fmt::format("{}\n    {}: \"{}\"", first ? "" : ",", quoted(entry.name), shard.name);
      first = false;
    }
  }
  return text + "\n  }\n}\n";
}

}  // namespace

Result<Layout> lay_out(std::span<const LayoutTensor> tensors, std::uint64_t limit, const std::string& single,
                       std::span<const std::pair<std::string, std::string>> metadata) {
  Layout layout;
  layout.shards.emplace_back();
  std::uint64_t in_shard = 0;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    ML_TRY(std::vector<LayoutEntry> entries, entries_of(tensors[i], i));
    const std::uint64_t n_bytes =
        std::accumulate(entries.begin(), entries.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const LayoutEntry& entry) { return sum + entry.n_bytes; });
    if (limit != 0 && !layout.shards.back().entries.empty() && in_shard + n_bytes > limit) {
      layout.shards.emplace_back();
      in_shard = 0;
    }
    in_shard += n_bytes;
    layout.n_entry_bytes += n_bytes;
    for (LayoutEntry& entry : entries) layout.shards.back().entries.push_back(std::move(entry));
  }
  for (std::size_t i = 0; i < layout.shards.size(); ++i) {
    LayoutShard& shard = layout.shards[i];
    shard.name =
        limit == 0 ? single : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, layout.shards.size());
    finish(shard, metadata);
  }
  layout.index = index_text(layout);
  return layout;
}

}  // namespace ml
