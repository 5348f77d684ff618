#pragma once

#include <ml/encoding.hpp>
#include <ml/export.hpp>
#include <ml/model.hpp>
#include <ml/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

inline constexpr std::uint64_t kMlbHeaderBytes = 256;
/// Every array of a .mlb starts at a multiple of it.
inline constexpr std::uint64_t kMlbAlignment = 64;

/// The header of a .mlb: 40 words, little-endian in the file, then zeros. mlb_fields() describes each of
/// them, mlb_rules() says which values are valid.
struct MlbHeader {
  std::array<char, 4> magic = {'M', 'L', 'B', '1'};
  std::uint32_t version = 1;
  std::uint32_t dim = 0;
  std::uint32_t n_layers = 0;
  std::uint32_t n_heads = 0;
  std::uint32_t n_kv_heads = 0;
  std::uint32_t hidden_dim = 0;
  std::uint32_t vocab = 0;
  std::uint32_t max_seq = 0;
  float rope_theta = 0;
  float norm_eps = 0;
  std::uint32_t wtype = 0;
  std::uint32_t shared_classifier = 0;
  std::uint32_t rope_type = 0;
  float rope_factor = 0;
  float rope_low_freq_factor = 0;
  float rope_high_freq_factor = 0;
  std::uint32_t rope_orig_max_seq = 0;
  std::uint32_t q8_mask = 0;
  std::uint32_t qkv_bias = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t qk_norm = 0;
  float rope_attn_factor = 0;
  std::uint32_t sliding_window = 0;
  std::uint32_t layer_flags = 0;
  float rope_local_theta = 0;
  std::uint32_t act = 0;
  std::uint32_t post_norms = 0;
  float embed_scale = 0;
  float attn_scale = 0;
  std::uint32_t scale_f16 = 0;
  float attn_softcap = 0;
  float final_softcap = 0;
  std::uint32_t rot_dim = 0;
  std::uint32_t attn_gate = 0;
  std::uint32_t lin_k_heads = 0;
  std::uint32_t lin_v_heads = 0;
  std::uint32_t lin_k_dim = 0;
  std::uint32_t lin_v_dim = 0;
  std::uint32_t lin_conv = 0;
  std::array<std::byte, 96> padding = {};
};
static_assert(sizeof(MlbHeader) == kMlbHeaderBytes);

enum class MlbType : std::uint8_t { tag, u32, f32, zeros };

/// One field of the header.
struct MlbField {
  std::string_view name;
  std::uint32_t offset;
  std::uint32_t n_bytes;
  MlbType type;
  std::string_view meaning;  ///< one short line
};

/// One condition on the header. The requirement continues "FIELD is VALUE, "; {names} in it stand for the
/// values of other fields.
struct MlbRule {
  std::string_view field;
  Status status;
  std::string_view requirement;
  bool (*holds)(const MlbHeader& header);
};

/// @return every field, in file order, the padding included: they cover the 256 bytes
ML_API std::span<const MlbField> mlb_fields();

/// @return every rule of the header, in file order of the fields. A rule holds where its own terms make no
/// sense
///         because another one is broken.
ML_API std::span<const MlbRule> mlb_rules();

/// @return the field of that name, or null
ML_API const MlbField* find_mlb_field(std::string_view name);

/// @return the value as text: "MLB1", "64", "1e-05" (the shortest that reads back the same)
ML_API std::string mlb_field_value(const MlbHeader& header, const MlbField& field);

/// @return a u32 field's value, a float's bits
ML_API std::uint32_t mlb_field_word(const MlbHeader& header, const MlbField& field);

/// @return the bits of a layer's flag byte in words: "window,local_rope"; "-" for none
ML_API std::string mlb_layer_flags_text(std::uint8_t flags);

/// Where one tensor lies in a .mlb. An F32 tensor has no scales.
struct MlbArray {
  Role role = Role::tok_emb;
  std::uint32_t layer = kNoLayer;
  Encoding encoding = Encoding::f32;
  ScaleType scale_type = ScaleType::none;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t offset = 0;        ///< of the quants, or the floats
  std::uint64_t n_bytes = 0;       ///< without padding
  std::uint64_t scale_offset = 0;  ///< 0 without scales
  std::uint64_t n_scale_bytes = 0;

  std::string name() const { return tensor_name(role, layer); }
  /// First byte after the tensor, padding not counted.
  std::uint64_t end() const { return n_scale_bytes != 0 ? scale_offset + n_scale_bytes : offset + n_bytes; }
};

/// The directory of a .mlb: everything but the contents of the arrays.
struct MlbFile {
  MlbHeader header = {};
  std::vector<std::uint8_t> layer_flags = {};  ///< a byte a layer; empty when the file stores none
  ModelDesc desc = {};
  std::vector<MlbArray> arrays = {};  ///< in file order
  std::uint64_t n_bytes = 0;          ///< the file's length without the optional padding at its end
};

/// Reads and validates the header only.
///
/// @param bytes   a whole .mlb, or at least its first 256 bytes
/// @error format, shape   the first rule broken, with the field's offset
ML_API Result<MlbHeader> read_mlb_header(std::span<const std::byte> bytes);

/// Reads header and layer flags and lays out the arrays.
///
/// @param bytes   a whole .mlb
/// @error format  also: shorter than the arrays need, bytes after the end
/// @error shape
/// @cost          independent of the sizes that the header claims: at most a small multiple of bytes.size()
ML_API Result<MlbFile> read_mlb(std::span<const std::byte> bytes);

/// Called now and then by what reads whole files, never from two threads at once, with bytes read and bytes
/// to read in all.
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Reads all of a .mlb and reports every defect, at most one of a kind for each array. Beyond what opening
/// refuses: padding that is not zero, and NaN or infinity among scales and float32 tensors.
///
/// @param bytes    a whole .mlb
/// @param threads  0: all cores; the result does not depend on it
/// @return         the defects in file order, none for a sound file
/// @cost           one pass over the file
ML_API std::vector<Error> check_mlb(std::span<const std::byte> bytes, unsigned threads = 0,
                                    const ReadProgress& progress = {});

}  // namespace ml
