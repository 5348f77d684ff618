#pragma once

#include <ml/export.hpp>
#include <ml/mlb.hpp>
#include <ml/model.hpp>
#include <ml/status.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace ml {

/// One value that a file states: a header field, a key of its metadata.
struct InfoField {
  using Value = std::variant<std::uint64_t, std::int64_t, float, double, bool, std::string>;
  std::string name;
  Value value;
  std::optional<std::uint64_t> offset = {};  ///< in the file, where the value has a place of its own
  std::string meaning = {};                  ///< one short line, or empty

  friend bool operator==(const InfoField& a, const InfoField& b) {
    return a.name == b.name && a.value == b.value;
  }
};

/// One array, or one tensor with its scales, as it is stored.
struct InfoArray {
  std::string name;
  std::uint32_t layer = kNoLayer;
  std::string encoding = {};  ///< "q8_0", "bf16", "i64", "u8"
  ScaleType scale_type = ScaleType::none;
  std::vector<std::uint64_t> shape = {};
  std::uint32_t file = 0;          ///< which of FileReport::files holds it
  std::uint64_t offset = 0;        ///< of `data` in that file
  std::uint64_t scale_offset = 0;  ///< of `scales`, where there are any
  std::span<const std::byte> data = {};
  std::span<const std::byte> scales = {};
  std::vector<std::span<const std::byte>> more = {};  ///< what else its encoding stores: biases, seeds
  bool packed = false;  ///< weights in blocks that decode_row does not read (GGUF): see load_weights()
  /// Set where the elements are weights that decode_row reads, or what statistics are made of (MLI1: mean
  /// squares).
  std::optional<TensorView> view = {};

  std::uint64_t n_bytes() const {
    std::uint64_t sum = data.size() + scales.size();
    for (const auto& part : more) sum += part.size();
    return sum;
  }
  ML_API std::uint64_t n_weights() const;  ///< 0 for arrays of something else
};

/// Weights of one array, and the memory they lie in where they had to be copied.
struct LoadedWeights {
  TensorView view;
  Model::Storage storage;
};

/// @return the array's view, or, of packed weights, a copy that decode_row reads
/// @error unsupported  no weights, or a type that is not decoded; names it
/// @error format       a Q8_0 quant of -128
ML_API Result<LoadedWeights> load_weights(const InfoArray& array);

struct InfoFile {
  std::string path;
  std::span<const std::byte> bytes;
};

/// What a file is, whether it is sound, and where everything in it lies.
struct FileReport {
  std::string format = {};  ///< "mlb", "mlt", "mli1", "mll1", "mls1", "mog", "gguf", "safetensors", "folder"
  std::string title = {};   ///< ".mlb model, version 1"
  std::vector<InfoField> fields = {};
  std::vector<InfoArray> arrays = {};  ///< in file order
  std::optional<ModelDesc> desc = {};  ///< set for models
  std::vector<InfoFile> files = {};    ///< the file, or those of a folder that belong to the model
  std::string note = {};               ///< why `desc` is not set for a sound file that is a model, or empty
  std::vector<Error> defects = {};     ///< all that a check found
  std::vector<Error> warnings = {};    ///< entries that readers pass over
  std::vector<Model::Storage> storage = {};  ///< keeps the views alive

  ML_API std::uint64_t n_bytes() const;  ///< of all files
};

struct InspectOptions {
  bool check = false;    ///< read everything and collect every defect; without it the first one is the error
  unsigned threads = 0;  ///< 0: all cores; never changes the result
  ReadProgress progress = {};  ///< of a check, where weights are read
};

/// Looks into a file of any known format; the format is found by its content.
///
/// @param path   a .mlb, .mlt, MLI1, MLL1, MLS1, .mog, .gguf or .safetensors file, a model folder or its
///               config.json; "-" reads standard input
/// @return       with options.check: also for a file that is not sound, with what could be read of it
/// @error io           cannot open or read
/// @error format, shape, limit   without options.check: the first defect; with it: no known format
/// @error unsupported  a known format that this version cannot look into. A folder whose model no family
/// reads is no
///                     error: its tensors are reported, and `note` says what is not supported
ML_API Result<FileReport> inspect(const std::string& path, const InspectOptions& options = {});

/// What a file is, by its first bytes: "mlb", "gguf", ..., "folder".
///
/// @return  "" for standard input and where it cannot be told
ML_API std::string file_format(const std::string& path);

/// All files that opening `path` as a model, a tokenizer or for its chat template may read, which an output
/// must not replace: itself; what lies in a folder; all splits of a .gguf; what a file has beside it that
/// names its special tokens or its template. Some of them may not exist. "-" stays what it is: OutputFile
/// knows it as standard input.
ML_API std::vector<std::string> input_files(const std::string& path);

/// Columns of a TensorStats histogram.
inline constexpr std::size_t kHistogramBins = 20;

/// The values of one tensor, decoded to float32.
struct TensorStats {
  std::uint64_t n = 0;  ///< weights
  std::uint64_t n_zero = 0;
  std::uint64_t n_non_finite = 0;  ///< NaN and infinity: counted here, left out of all else
  float min = 0;
  float max = 0;
  double mean = 0;
  double rms = 0;
  /// Finite weights in equal steps from min to max, both included.
  std::array<std::uint64_t, kHistogramBins> histogram = {};
};

/// Reads a tensor twice: once for its range and moments, once for the histogram.
///
/// @param threads  0: all cores; the result does not depend on it, nor on the machine
ML_API TensorStats tensor_stats(const TensorView& view, unsigned threads = 0);

/// The first weight that is NaN or infinite: {row, column}.
ML_API std::optional<std::array<std::uint64_t, 2>> find_non_finite(const TensorView& view);

/// How far two tensors of one shape are apart: the root mean square of the differences of their weights.
ML_API double rms_difference(const TensorView& a, const TensorView& b);

}  // namespace ml
