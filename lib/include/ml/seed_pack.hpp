#pragma once

#include <ml/encoding.hpp>
#include <ml/export.hpp>
#include <ml/imatrix.hpp>
#include <ml/latent.hpp>
#include <ml/model.hpp>
#include <ml/status.hpp>
#include <ml/target.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

class InputBytes;

/// Which encoding the tensors with matching names get. `*` is any text, `?` any character.
struct PackRule {
  std::string pattern;
  Encoding encoding = Encoding::bf16;
};

/// Mean square of each input column of the tensor of that name; empty where nothing is known.
using ColumnImportance =
    std::function<Result<std::vector<float>>(std::string_view tensor, std::uint64_t cols)>;

/// What an importance matrix says of a model's tensors. Embeddings have none: their input is no activation.
///
/// @error shape  it is made for another model; the message names the field
ML_API Result<ColumnImportance> column_importance(const Imatrix& imatrix, const Model& model);

struct SeedPackOptions {
  Encoding encoding =
      Encoding::seed4p4;  ///< of matrices called *.weight, routers excepted; one of pack_encodings()
  std::vector<PackRule> rules = {};  ///< the last one that matches decides, for any tensor
  std::optional<Encoding> mla = {};  ///< of the tensors *.self_attn.mla.*; unset: as `encoding`
  std::uint64_t shard_bytes = 4'500'000'000;
  /// A Python file to copy and to name as config.json's model_file; empty: the one that the input's names,
  /// where it is there.
  std::string loader = {};
  std::shared_ptr<const InputBytes> piped = {};  ///< of read_piped(); null: the input is opened by its path
  std::vector<std::string> inputs = {};          ///< files that were read besides; replacing one is refused
  std::string work = {};  ///< a folder that keeps searched tensors for another try; empty: none
  /// Tensors that take the place of others (plan_latent() or convert_to_latent() of the input); null: none.
  const LatentConversion* latent = nullptr;
  ColumnImportance importance = {};  ///< for seed encodings; unset: every column counts the same
  unsigned threads = 0;              ///< 0: available_threads(); never changes a bit
  Target target = Target::best;      ///< never changes a bit
  bool force = false;                ///< replace an existing output
  bool strict = false;               ///< entries that belong to no tensor are an error
  /// Called from any thread, one call at a time, with weights done and weights in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// @return bf16, q8g64, q4g64, q4g32, seed4p4, seed4
ML_API const std::vector<Encoding>& pack_encodings();
/// @return the encoding that options call q8, q4, ... (or by its full name), in any letter case
ML_API std::optional<Encoding> find_pack_encoding(std::string_view name);

struct PackedTensor {
  std::string name = {};
  std::string source_encoding = {};
  std::string encoding = {};  ///< as written: an encoding, or the dtype of entries that are no weights
  std::optional<std::size_t> rule = {};  ///< which of SeedPackOptions::rules decided
  std::string kept = {};                 ///< why it is not in the encoding that was asked for, or empty
  std::vector<std::uint64_t> shape = {};
  std::uint64_t n_weights = 0;
  std::uint64_t n_bytes = 0;
  bool copied = false;        ///< bytes as they were
  double relative_error = 0;  ///< root mean square of the difference over that of the source
  double seconds = 0;
};

struct PackReport {
  std::vector<PackedTensor> tensors = {};  ///< in writing order
  std::vector<std::string> files = {};     ///< names in the output folder, or the output file
  std::vector<Error> warnings = {};        ///< entries that were passed over
  std::vector<std::string> notes = {};     ///< what else a user should know; a line each
  std::uint64_t n_bytes = 0;               ///< of all shards
  std::uint64_t n_weights = 0;
  double bits_per_weight = 0;  ///< bits of all entries over n_weights
  double seconds = 0;
};

/// Reads a single .safetensors that can be read only once, for SeedPackOptions::piped: planning and packing
/// then use the same bytes.
///
/// @param input  a pipe or device; "-" is standard input
/// @return       null for a folder, a regular file or nothing, which plan_pack() and pack_model() open
/// themselves
/// @error io, nomem
/// @error format  it does not begin as a .safetensors does; nothing more is waited for
ML_API Result<std::shared_ptr<const InputBytes>> read_piped(const std::string& input);

/// What pack_model() would write: every size exact, nothing written.
///
/// @error as pack_model(), but for the values of weights
ML_API Result<PackReport> plan_pack(const std::string& input, const std::string& output,
                                    const SeedPackOptions& options);

/// Writes a NanoSeedLM model folder from a checkpoint folder, or a single file from a single .safetensors.
/// Encoded tensors of the input are decoded, unless they have the wanted encoding already.
///
/// @param output  appears complete, or not at all
/// @error arg     no matrix matches a rule; output and input are the same, or the output holds a file that is
///                an input under another name
/// @error io      also a pipe without SeedPackOptions::piped
/// @error format, shape, limit
/// @cost          memory: the largest tensor as BF16 and encoded
/// @source        nanoseedlm(5)
ML_API Result<PackReport> pack_model(const std::string& input, const std::string& output,
                                     const SeedPackOptions& options);

}  // namespace ml
