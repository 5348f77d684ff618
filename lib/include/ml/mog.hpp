#pragma once

#include <ml/encoding.hpp>
#include <ml/export.hpp>
#include <ml/mlb.hpp>
#include <ml/model.hpp>
#include <ml/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

inline constexpr std::uint32_t kMogVersion = 3;
/// Sections and buffers of a .mog start at multiples of it.
inline constexpr std::uint64_t kMogAlignment = 64;
inline constexpr std::uint32_t kMogMaxLayers = 512;

/// The first 64 bytes of a .mog.
struct MogPreamble {
  std::array<char, 4> magic = {'M', 'O', 'G', '\0'};
  std::uint32_t version = kMogVersion;
  std::uint32_t architecture = 0;
  std::uint32_t config_size = 1024;
  std::uint64_t tokenizer_offset = 0;
  std::uint64_t tokenizer_size = 0;
  std::uint64_t directory_offset = 0;
  std::uint32_t n_records = 0;
  std::uint32_t record_size = 64;
  std::uint64_t payload_offset = 0;
  std::uint64_t payload_size = 0;
};
static_assert(sizeof(MogPreamble) == 64);

/// The configuration, one struct for every architecture: offset 64 of the file. Values mean what they mean in
/// the header of a .mlb.
struct MogConfig {
  std::uint32_t dim = 0;
  std::uint32_t n_layers = 0;
  std::uint32_t n_heads = 0;
  std::uint32_t n_kv_heads = 0;
  std::uint32_t hidden_dim = 0;
  std::uint32_t vocab = 0;
  std::uint32_t max_seq = 0;
  std::uint32_t head_dim = 0;
  float rope_theta = 0;
  float norm_eps = 0;
  std::uint32_t shared_classifier = 0;
  std::uint32_t rope_type = 0;
  float rope_factor = 0;
  float low_freq_factor = 0;
  float high_freq_factor = 0;
  float rope_attn_factor = 0;
  std::uint32_t rope_orig_max_seq = 0;
  std::uint32_t qkv_bias = 0;
  std::uint32_t qk_norm = 0;
  std::uint32_t sliding_window = 0;
  float rope_local_theta = 0;
  std::uint32_t act = 0;
  std::uint32_t post_norms = 0;
  float embed_scale = 0;
  float attn_scale = 0;
  float attn_softcap = 0;
  float final_softcap = 0;
  std::uint32_t rot_dim = 0;
  std::uint32_t attn_gate = 0;
  std::uint32_t lin_k_heads = 0;
  std::uint32_t lin_v_heads = 0;
  std::uint32_t lin_k_dim = 0;
  std::uint32_t lin_v_dim = 0;
  std::uint32_t lin_conv = 0;
  std::uint32_t rope_layout = 0;
  std::array<std::byte, 372> padding = {};
  std::array<std::uint8_t, kMogMaxLayers> layer_flags = {};
};
static_assert(sizeof(MogConfig) == 1024 && offsetof(MogConfig, layer_flags) == 512);

/// One record of the tensor directory; all zero for a slot that the model does not have.
struct MogRecord {
  std::uint64_t data_offset = 0;
  std::uint64_t scale_offset = 0;
  std::uint64_t n_data_bytes = 0;
  std::uint64_t n_scale_bytes = 0;
  std::array<std::uint32_t, 4> dims = {};
  std::uint32_t encoding = 0;
  std::array<std::uint32_t, 3> padding = {};

  friend bool operator==(const MogRecord&, const MogRecord&) = default;
};
static_assert(sizeof(MogRecord) == 64);

enum class MogType : std::uint8_t { tag, u32, u64, f32, zeros, bytes };

/// One field of the preamble or the configuration.
struct MogField {
  std::string_view name;
  std::uint32_t offset;  ///< in the file
  std::uint32_t n_bytes;
  MogType type;
  std::string_view mlb_name;  ///< the field of a .mlb's header with its meaning and rules; empty: none
  std::string_view meaning;   ///< one short line
};

/// @return every field, in file order: they cover the first 1088 bytes
ML_API std::span<const MogField> mog_fields();

/// An architecture that a .mog can name.
struct MogArchitecture {
  std::uint32_t id;
  std::string_view name;  ///< "qwen3_5"
};
ML_API std::span<const MogArchitecture> mog_architectures();

/// A tensor encoding that a .mog can name.
struct MogEncoding {
  std::uint32_t id;
  std::string name;  ///< "int4_g64_f32"
  Encoding encoding;
  ScaleType scale_type;
};
/// @return all of them, by id
ML_API std::span<const MogEncoding> mog_encodings();
/// @return the one of that name in any letter case, or null
ML_API const MogEncoding* find_mog_encoding(std::string_view name);

/// A slot of the directory.
struct MogSlot {
  Role role = Role::tok_emb;
  std::uint32_t layer = kNoLayer;

  friend bool operator==(const MogSlot&, const MogSlot&) = default;
};
/// @return the slots of a model in directory order: embed, 26 for each layer, norm, lm_head
ML_API std::vector<MogSlot> mog_slots(std::uint32_t n_layers);
/// @return "embed", "layers.3.q_proj"
ML_API std::string mog_slot_name(MogSlot slot);
/// @return the slot of that name, in a model of any number of layers
ML_API std::optional<MogSlot> find_mog_slot(std::string_view name);

/// A .mog but for the contents of its tensors.
struct MogFile {
  MogPreamble preamble = {};
  MogConfig config = {};
  ModelDesc desc = {};
  std::vector<MlbArray> tensors = {};  ///< those that the model has, in file order
};

/// Reads and validates preamble, configuration, tokenizer and directory.
///
/// @param bytes  a whole .mog
/// @error format, shape   the first rule broken, with its offset
/// @error unsupported     a version that is not 3
/// @cost          independent of the sizes that the file claims
ML_API Result<MogFile> read_mog(std::span<const std::byte> bytes);

/// @return true for a file that is a .mog with a tokenizer, as its first bytes say; any other path is false
ML_API bool mog_holds_tokenizer(const std::string& path);

/// Reads all of a .mog and reports every defect, at most one of a kind for each tensor. Beyond what opening
/// refuses: gaps that are not zero, and NaN or infinity among scales and plain tensors.
///
/// @param threads  0: all cores; the result does not depend on it
/// @return         the defects, none for a sound file
ML_API std::vector<Error> check_mog(std::span<const std::byte> bytes, unsigned threads = 0,
                                    const ReadProgress& progress = {});

}  // namespace ml
