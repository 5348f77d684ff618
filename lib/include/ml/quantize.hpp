#pragma once

#include <ml/encoding.hpp>
#include <ml/export.hpp>
#include <ml/imatrix.hpp>
#include <ml/mlb.hpp>
#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/status.hpp>
#include <ml/target.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// How the scale of a Q4_0 block is found (mlb(5), QUANTIZATION).
enum class Q4Rule : std::uint8_t {
  search,  ///< the best of 13 weighted least-squares fits
  best,    ///< the search, refined: never worse on any block, and slower
  round,   ///< largest element / -8: for checkpoints trained for Q4_0
};

/// A class of matrices that a Q4_0 model may store as Q8_0: one bit of q8_mask.
struct Q8Class {
  std::string_view name;
  std::uint32_t bit;
  std::string_view tensors;  ///< what it covers
};

/// @return tok_emb, wcls, qk, v, o, gate_up, down
ML_API std::span<const Q8Class> q8_classes();

/// @return the bit of the class of that name in any letter case, or nothing
ML_API std::optional<std::uint32_t> find_q8_class(std::string_view name);

struct QuantizeOptions {
  Encoding type = Encoding::q8_0;  ///< q8_0 or q4_0
  ScaleType scales = ScaleType::f32;
  std::uint32_t q8_mask = 0;  ///< type q4_0 only
  Q4Rule q4_rule = Q4Rule::search;
  std::uint32_t max_seq = 0;         ///< lowers the model's longest context; 0: as it is
  const Imatrix* imatrix = nullptr;  ///< weighs the errors of Q4_0 weights; null: none. Not with rule round
  bool keep = false;                 ///< refuse to change the encoding of a tensor that is quantized already
  unsigned threads = 0;              ///< 0: available_threads(); never changes a bit of the file
  Target target = Target::best;      ///< nor does this
  /// Called now and then, never from two threads at once, with bytes written and bytes in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// The rule that a model's Q4_0 weights are made by where nothing else is asked for: `round` for Gemma 3,
/// whose checkpoints are trained for it, else `search`.
ML_API Q4Rule default_q4_rule(const ModelDesc& desc);

/// How a .mlb stores a model's quantized matrices without a change.
struct KeptStorage {
  Encoding type = Encoding::q8_0;
  ScaleType scales = ScaleType::f32;
  std::uint32_t q8_mask = 0;
};

/// Derives it: Q4_0 where any matrix is, then with the mask of the classes that hold others.
///
/// @return  nothing where no matrix is quantized. A class that holds both Q4_0 and others cannot be kept as
///          it is: quantize_model() with QuantizeOptions::keep names the tensor.
ML_API std::optional<KeptStorage> kept_storage(const Model& model);

/// One tensor of the file written.
struct QuantizedTensor {
  std::string name = {};    ///< "layers.0.wq"
  std::string source = {};  ///< the source's name for it
  MlbArray array = {};
  bool copied = false;    ///< the source had this encoding, or its quants in another order: kept as they were
  bool weighted = false;  ///< an importance matrix weighs its errors
  double rms_error = 0;   ///< root of the mean square difference from the source
  double relative_error = 0;  ///< rms_error over the root mean square of the source; 0 where that is 0
  double seconds = 0;
};

struct QuantizeReport {
  MlbHeader header = {};
  std::vector<QuantizedTensor> tensors = {};  ///< in file order
  std::uint64_t n_bytes = 0;                  ///< of the file
  std::uint64_t n_weights = 0;                ///< of the file
  std::uint64_t source_weights = 0;           ///< fewer than n_weights where zeros were added
  double bits_per_weight = 0;                 ///< bits of all arrays (no header, no padding) over n_weights
  std::uint32_t source_hidden_dim = 0;        ///< differs from header.hidden_dim where zeros were added
  std::uint32_t source_max_seq = 0;
  double seconds = 0;
};

/// What quantize_model() would write: every size exact, no error measured, nothing written.
///
/// @error arg             options that exclude each other
/// @error unsupported     options.keep, and a quantized tensor would change; names it and both encodings
/// @error format, shape   the model cannot be a .mlb, or the importance matrix is of another one; the message
///                        names the field
ML_API Result<QuantizeReport> plan_quantize(const Model& model, const QuantizeOptions& options);

/// Writes a model of any origin as a .mlb.
///
/// Query and key rows of a rotate_half model are reordered to interleaved pairs; a hidden_dim that is no
/// multiple of 32 grows to the next one by zeros. A tensor that is in the wanted encoding already, or in one
/// that has the same quants in another order (int4_g32, int4r16_g32, int8r16_g32), keeps its quants.
///
/// @param out     receives the file front to back; the caller commits it
/// @return        what was written and how far it is from the source
/// @error arg, format, shape   as plan_quantize()
/// @error format  NaN or infinity among the weights; the message names tensor, row and column
/// @error limit   a scale overflows; the message names tensor, row and block
/// @error io
/// @cost          memory: a few rows for each thread and the scales of one tensor
ML_API Result<QuantizeReport> quantize_model(const Model& model, const QuantizeOptions& options,
                                             OutputFile& out);

}  // namespace ml
