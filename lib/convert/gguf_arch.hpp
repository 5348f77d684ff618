#pragma once

#include "convert/family.hpp"
#include "formats/gguf_files.hpp"

#include <nlohmann/json.hpp>

namespace ml {

class GgufKeys;

/// Lists of rows that make up an architecture's tensors.
using GgufRows = std::array<std::span<const TensorRow>, 4>;

/// One value of general.architecture: what its metadata and tensors are in terms of a checkpoint family.
struct GgufArch {
  std::string_view name;
  const Family* family;
  /// Names after "blk.N.", or whole ones. A role may have several rows: the first whose tensor is there
  /// counts.
  GgufRows tensors;
  bool interleaved = false;   ///< rows of wq and wk stand as pairs that rotate together
  bool tiled_values = false;  ///< value heads of linear layers stand by their number in the group first
  /// The keys of a config.json that the common ones do not give.
  Result<void> (*refine)(const GgufKeys& keys, nlohmann::json& config) = nullptr;
};

/// The metadata of one model, by keys after "ARCH.".
class GgufKeys {
 public:
  GgufKeys(const GgufFiles& files, std::string_view arch) : files_(files), arch_(arch) {}

  /// @return "llama.block_count"
  std::string name(std::string_view key) const;
  const GgufValue* find(std::string_view key) const;
  /// Typed values; `missing` where the key is absent. @error format  another type, or beyond its range
  Result<std::uint64_t> count(std::string_view key, std::uint64_t missing) const;
  Result<double> number(std::string_view key, double missing) const;
  Result<std::string> text(std::string_view key) const;

  const GgufFiles& files() const { return files_; }
  /// "llama.block_count is ..., must be RULE"
  Error wrong(std::string_view key, std::string_view rule, Status status = Status::format) const;

 private:
  const GgufFiles& files_;
  std::string arch_;
};

/// Finds the architecture that a file names.
///
/// @error format       no general.architecture
/// @error unsupported  none of ours; names the value and lists ours
Result<const GgufArch*> find_gguf_arch(const GgufFile& file);

/// The role of the tensor of that name ("attn_q.weight", without "blk.N.") in any architecture; of a fused
/// one that of its first part.
std::optional<Role> find_gguf_role(std::string_view name);

/// A value as messages show it: "7", "\"text\"", "an array of 3 strings".
std::string show_gguf_value(const GgufValue& value);

/// Describes a model by its metadata (gguf(5), ARCHITECTURES): the keys of a config.json that say the same,
/// read by the family that reads those.
///
/// @error format, shape, unsupported  names the key
Result<ModelDesc> describe_gguf(const GgufFiles& files, const GgufArch& arch);

/// Recovers the parameters of llama3's scaling from the factors of rope_freqs.weight: the first of the known
/// combinations that gives them. @return an object of scaling parameters, null where all factors are 1
/// @error unsupported  none fits
Result<nlohmann::json> match_rope_factors(std::span<const float> factors, double theta,
                                          std::uint64_t orig_hint);

}  // namespace ml
