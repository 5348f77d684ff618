#pragma once

#include <ml/encoding.hpp>
#include <ml/status.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

enum class RopeType : std::uint8_t { plain, llama3, linear, yarn };
/// Which dimensions of a head rotate together: (2i, 2i + 1), or (i, i + rot_dim / 2).
enum class RopeLayout : std::uint8_t { interleaved, rotate_half };
enum class Activation : std::uint8_t { silu, gelu_tanh };
/// latent_attention: heads share one latent vector a position (nanoseedlm(5), LATENT ATTENTION).
enum class LayerKind : std::uint8_t { attention, gated_delta, latent_attention };

/// How a cache keeps what attention reads again. bf16, fp8 and fp4 are the formats of latent attention;
/// layers of ordinary attention keep bf16 where the type is fp8 or fp4.
enum class KvType : std::uint8_t { f32, f16, q8, bf16, fp8, fp4 };

/// @return "f16": as options and reports spell it
ML_API std::string_view kv_type_name(KvType type);
ML_API std::optional<KvType> find_kv_type(std::string_view name);
/// What the attention's output is multiplied with: sigmoid(wg x), or log2(1 + 2^(wg x)).
enum class GateFunction : std::uint8_t { sigmoid, softplus };

/// Rotary position embedding (mlb(5), RoPE). Fields that a type does not use are 0.
struct RopeDesc {
  RopeType type = RopeType::plain;
  RopeLayout layout = RopeLayout::interleaved;
  float theta = 10000.0f;
  float factor = 0;            ///< llama3, linear, yarn
  float low_freq_factor = 0;   ///< llama3; yarn: beta_fast
  float high_freq_factor = 0;  ///< llama3; yarn: beta_slow
  std::uint32_t orig_max_seq = 0;
  float attn_factor = 0;      ///< yarn: multiplies cos and sin
  float local_theta = 0;      ///< base of the layers with local_rope
  std::uint32_t rot_dim = 0;  ///< leading dimensions of a head that rotate; always set (head_dim when all do)
};

/// Gated delta rule (mlb(5), LINEAR ATTENTION); all 0 when the model has no such layer.
struct GatedDeltaDesc {
  std::uint32_t k_heads = 0;
  std::uint32_t v_heads = 0;
  std::uint32_t k_dim = 0;
  std::uint32_t v_dim = 0;
  std::uint32_t conv = 0;  ///< taps of the causal convolution

  std::uint64_t n_channels() const { return 2ull * k_heads * k_dim + std::uint64_t(v_heads) * v_dim; }
  std::uint64_t n_values() const { return std::uint64_t(v_heads) * v_dim; }
};

/// Mixtures of experts in place of feed-forward networks and of value projections (nanoseedlm(5), MOVA); all
/// 0 when the model has no such layer.
struct MixtureDesc {
  std::uint32_t n_experts = 0;        ///< feed-forward networks of a layer, beside one that all tokens share
  std::uint32_t n_chosen = 0;         ///< of them a token
  std::uint32_t expert_dim = 0;       ///< hidden dimension of each, the shared one included
  std::uint32_t n_value_experts = 0;  ///< value projections of a layer
  std::uint32_t n_chosen_values = 0;  ///< of them a token
  float factor = 0;                   ///< sum of the weights of those chosen
};

struct LayerDesc {
  LayerKind kind = LayerKind::attention;
  bool windowed = false;    ///< attends to the last ModelDesc::sliding_window positions only
  bool local_rope = false;  ///< rotates with RopeDesc::local_theta, unscaled
  bool no_rope = false;     ///< leaves queries and keys unrotated
  bool sparse = false;      ///< values and feed-forward are mixtures of experts (ModelDesc::mixture)
  std::uint32_t rank = 0;   ///< elements of the latent vector; 0 for other kinds
};

/// What a model with latent attention says of its use; unset or 0 where it says nothing.
struct LatentDesc {
  std::optional<KvType> kv = {};
  std::uint32_t max_context = 0;  ///< ModelDesc::max_seq is not above it
};

/// The meaning of a model, whatever file it came from. All values are resolved: no "0 means default",
/// except the factors, which say so.
struct ModelDesc {
  std::uint32_t dim = 0;
  std::uint32_t n_heads = 0;
  std::uint32_t n_kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t hidden_dim = 0;
  std::uint32_t vocab = 0;
  std::uint32_t max_seq = 0;
  float norm_eps = 0;
  bool shared_classifier = false;
  RopeDesc rope = {};
  std::uint32_t sliding_window = 0;  ///< positions, itself included; 0 when no layer has one
  Activation activation = Activation::silu;
  bool qkv_bias = false;
  bool qk_norm = false;
  bool post_norms = false;
  bool attn_gate = false;
  GateFunction gate_function = GateFunction::sigmoid;
  std::uint32_t norm_groups =
      1;                    ///< parts of dim that a layer's norms, and the final one, normalize by themselves
  float embed_scale = 0;    ///< 0: none
  float attn_scale = 0;     ///< 0: 1 / sqrt(head_dim)
  float attn_softcap = 0;   ///< 0: none
  float final_softcap = 0;  ///< 0: none
  GatedDeltaDesc linear = {};
  LatentDesc latent = {};
  MixtureDesc mixture = {};
  std::vector<LayerDesc> layers = {};

  std::uint32_t n_layers() const { return static_cast<std::uint32_t>(layers.size()); }
  std::uint32_t q_dim() const { return n_heads * head_dim; }
  std::uint32_t kv_dim() const { return n_kv_heads * head_dim; }
  bool has_latent() const {
    return std::any_of(layers.begin(), layers.end(),
                       [](const LayerDesc& layer) { return layer.kind == LayerKind::latent_attention; });
  }
};

/// What a tensor is for. The names are those of mlb(5), BODY, and nanoseedlm(5), LATENT ATTENTION and MOVA.
/// Those that begin with v_expert or expert_ are there once for each expert.
enum class Role : std::uint8_t {
  tok_emb,
  attn_norm,
  wq,
  wk,
  wv,
  wo,
  wg,
  bq,
  bk,
  bv,
  q_norm,
  k_norm,
  lqkv,
  lz,
  lb,
  la,
  lconv,
  dt_bias,
  a_log,
  lnorm,
  lout,
  ffn_norm,
  w1,
  w2,
  w3,
  post_attn_norm,
  post_ffn_norm,
  final_norm,
  wcls,
  // No .mlb and no .mog holds those from here on.
  kv_a_x,
  kv_a_v,
  k_rope_proj,
  q_rope_mix,
  q_lat,
  v_up,
  v_router,
  v_router_bias,
  v_expert,
  router,
  router_bias,
  expert_w1,
  expert_w2,
  expert_w3,
  shared_w1,
  shared_w2,
  shared_w3,
};
inline constexpr std::size_t kMlbRoles = static_cast<std::size_t>(Role::wcls) + 1;
inline constexpr std::size_t kRoles = static_cast<std::size_t>(Role::shared_w3) + 1;

/// @return "wq", "attn_norm", ...
ML_API std::string_view role_name(Role role);

/// The layer of a tensor that belongs to none.
inline constexpr std::uint32_t kNoLayer = UINT32_MAX;
/// The expert of a tensor that is there once.
inline constexpr std::uint32_t kNoExpert = UINT32_MAX;

/// One tensor of an open model.
struct Tensor {
  Role role = Role::tok_emb;
  std::uint32_t layer = kNoLayer;
  std::string name =
      {};  ///< as its file calls it ("model.layers.0.self_attn.q_proj.weight"), or "layers.0.wq"
  TensorView view = {};
  std::uint32_t expert =
      kNoExpert;  ///< counted from 0; the experts of a role share a name where the file stacks them
};

/// @return "layers.3.wq", "tok_emb": the name of a role in formats that store none
ML_API std::string tensor_name(Role role, std::uint32_t layer);

/// @return how many tensors of a role a layer has that has any: the number of experts, or 1
ML_API std::uint32_t role_count(const ModelDesc& desc, Role role);
/// True for roles that are there once for each expert.
ML_API bool is_expert(Role role);

/// Shape that `desc` gives a tensor, that of one expert: {rows, cols}; vectors have one row, maps of heads
/// stand one below the other. {0, 0} when the model has no such tensor.
struct Shape {
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};
///
/// @param layer  counts for the roles of latent attention only
ML_API Shape role_shape(const ModelDesc& desc, Role role, std::uint32_t layer = kNoLayer);

/// @return the roles of one layer of that kind, in the order of mlb(5), BODY
ML_API std::vector<Role> layer_roles(const ModelDesc& desc, const LayerDesc& layer);

/// True for weight matrices (which may be quantized), false for vectors and lconv (always float32 in .mlb).
ML_API bool is_matrix(Role role);

/// True for a matrix of each head (q_rope_mix, q_lat, v_up): its products take float32 activations always.
ML_API bool is_head_map(Role role);

struct OpenOptions {
  /// Skips the pass over all Q8_0 quants (no byte may be -128). Only for files that were checked before.
  bool trust = false;
  /// What Model::warnings() would tell is an error.
  bool strict = false;
  /// Decodes quantized tensors of types that have no kernels here (GGUF's Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K)
  /// to float32, four bytes a weight, instead of refusing them.
  bool decode = false;
};

/// An open model: its meaning, its tensors, and the memory they lie in.
class ML_API Model {
 public:
  /// What keeps the views alive: mapped files, buffers.
  using Storage = std::shared_ptr<const void>;

  /// Opens a model, checks all of it, and maps its tensors without copying (those of a .gguf that are
  /// quantized are copied: their scales stand between their quants).
  ///
  /// @param path        a .mlb, .mog or .gguf file (the first of its splits), a model folder or its
  ///                    config.json; "-" reads standard input into memory
  /// @return            the model; its views stay valid while it or a copy lives
  /// @error io          cannot open or read; os_errno says why
  /// @error format      bytes break the format; offset is the first wrong byte
  /// @error shape       a dimension is zero, too large, or does not divide as it must
  /// @error unsupported a sound file of a family, an encoding or a rule that is not known here
  /// @error limit       more of something than the format or this library takes
  /// @error nomem       memory is exhausted
  /// @cost         header and directory, plus one pass over Q8_0 quants unless options.trust
  /// @source       mlb(5), VALIDATION
  static Result<Model> open(const std::string& path, const OpenOptions& options = {});

  /// Puts a model together from parts; for format readers and tests. Checks that every tensor that `desc`
  /// implies is there once, with its shape; experts of a role must follow one another, from 0.
  static Result<Model> assemble(ModelDesc desc, std::vector<Tensor> tensors, std::vector<Storage> storage);

  const ModelDesc& desc() const { return desc_; }
  std::span<const Tensor> tensors() const { return tensors_; }

  /// What it was opened from: "mlb", "mog", "gguf" or "folder"; empty for one that was put together.
  std::string_view format() const { return format_; }

  /// @return the tensor, or null when the model has none
  const Tensor* find(Role role, std::uint32_t layer = kNoLayer) const;
  /// @return role_count() tensors, those of experts in order; empty when the model has not all of them
  std::span<const Tensor> find_all(Role role, std::uint32_t layer) const;

  /// What the reader passed over: entries of a model folder that belong to no tensor.
  std::span<const Error> warnings() const { return warnings_; }
  void add_warning(Error warning) { warnings_.push_back(std::move(warning)); }

  /// Bytes of all tensors as stored.
  std::uint64_t n_bytes() const;
  /// Weights of all tensors.
  std::uint64_t n_weights() const;

 private:
  ModelDesc desc_;
  std::string_view format_;
  std::vector<Tensor> tensors_;
  std::vector<Storage> storage_;
  std::vector<Error> warnings_;
  std::vector<std::uint32_t> index_;  // role, or (layer + 1) * kRoles + role -> tensor + 1
};

}  // namespace ml
