#pragma once

// How a NanoSeedLM folder lays out its shards (nanoseedlm(5), SHARDS):
//
//   header   u64 length, JSON, spaces: 8 + length is a multiple of 16384
//   data     first the entries whose size is a multiple of 16384, then the others, each group in the order of
//            tensors and of their entries; no padding
//   split    tensors in order, all entries of one in one shard; a new shard begins where the limit would be
//   passed

#include <ml/encoding.hpp>
#include <ml/status.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ml {

/// One tensor to write. Encoded ones have slices, rows and cols as shape: the slices only where there are
/// more than one.
struct LayoutTensor {
  std::string name;
  std::string dtype = {};  ///< of a single entry; empty: encoded
  Encoding encoding = Encoding::bf16;
  std::vector<std::uint64_t> shape = {};
};

/// Which bytes of a tensor an entry holds.
enum class EntryPart : std::uint8_t { data, scales, biases, seeds };

struct LayoutEntry {
  std::string name;
  std::string_view dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t n_bytes = 0;
  std::uint32_t tensor = 0;  ///< index
  EntryPart part = EntryPart::data;
  std::uint64_t offset = 0;  ///< in the shard's file
};

struct LayoutShard {
  std::string name;  ///< of the file
  std::string header = {};
  std::vector<LayoutEntry> entries = {};  ///< in the order of the header
  std::uint64_t n_bytes = 0;              ///< of the file
};

struct Layout {
  std::vector<LayoutShard> shards;
  std::string index;  ///< model.safetensors.index.json
  std::uint64_t n_entry_bytes = 0;
};

/// @param limit       bytes of entries a shard; 0: one shard, called `single`
/// @param metadata    after {"format": "mlx"}
/// @error shape       a size that overflows
Result<Layout> lay_out(std::span<const LayoutTensor> tensors, std::uint64_t limit, const std::string& single,
                       std::span<const std::pair<std::string, std::string>> metadata);

}  // namespace ml
