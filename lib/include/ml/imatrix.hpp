#pragma once

#include <ml/export.hpp>
#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// What an importance matrix sums: the inputs of the matrices of a layer, and of the classifier.
enum class ImatrixInput : std::uint8_t { qkv, o, gate_up, down, classifier };

/// @return "qkv" (wq, wk, wv, and wg, lqkv, lz), "o" (wo, lout), "gate_up" (w1, w3), "down" (w2),
/// "classifier"
ML_API std::string_view imatrix_input_name(ImatrixInput input);

/// @return the four inputs of a layer, in file order
ML_API std::span<const ImatrixInput> imatrix_layer_inputs();

/// @return "layers.3.down", "classifier"
ML_API std::string imatrix_sums_name(std::uint32_t layer, ImatrixInput input);

/// The sizes that an importance matrix is made for, as the .mlb of its model has them: hidden_dim is a
/// multiple of 32.
struct ImatrixShape {
  std::uint32_t n_layers = 0;
  std::uint32_t dim = 0;
  std::uint32_t hidden_dim = 0;
  std::uint32_t q_dim = 0;  ///< resolved: never 0

  /// Channels of one input.
  std::uint64_t n_channels(ImatrixInput input) const {
    return input == ImatrixInput::o ? q_dim : input == ImatrixInput::down ? hidden_dim : dim;
  }
  std::uint64_t n_layer_channels() const { return 2ull * dim + q_dim + hidden_dim; }
  std::uint64_t n_sums() const { return n_layers * n_layer_channels() + dim; }
  ML_API std::uint64_t n_bytes() const;  ///< of the MLI1 file
  /// Index of an input's first sum; the layer of the classifier does not matter.
  ML_API std::uint64_t first_sum(std::uint32_t layer, ImatrixInput input) const;

  friend bool operator==(const ImatrixShape&, const ImatrixShape&) = default;
};

/// @return      the shape of the importance matrices of a model
/// @error shape a dimension that no .mlb has, or linear-attention layers whose output (v_heads x v_dim)
/// differs from
///              q_dim, for which the format has no place
ML_API Result<ImatrixShape> imatrix_shape(const ModelDesc& desc);

/// @return the input that a matrix is multiplied with, whose sums weigh its columns; nothing for vectors and
/// for an embedding that is only looked up
ML_API std::optional<ImatrixInput> imatrix_input(Role role, const ModelDesc& desc);

struct Imatrix;

/// @error shape  the matrix is made for another model; the message names the field and both values
ML_API Result<void> check_imatrix_fits(const Imatrix& imatrix, const ModelDesc& desc);

/// Sums of squares of the float inputs of a model's matrices, channel by channel (mli(5)).
struct Imatrix {
  ImatrixShape shape = {};
  std::uint64_t tokens = 0;             ///< summed into the layers
  std::uint64_t classifier_tokens = 0;  ///< summed into the classifier
  std::vector<double> sums = {};        ///< shape.n_sums()
  /// What of a file in another form was left out, or is not in it; none of an MLI1 file.
  std::vector<std::string> notes = {};

  std::span<const double> of(std::uint32_t layer, ImatrixInput input) const {
    return std::span(sums).subspan(shape.first_sum(layer, input), shape.n_channels(input));
  }
  std::uint64_t tokens_of(ImatrixInput input) const {
    return input == ImatrixInput::classifier ? classifier_tokens : tokens;
  }
};

/// Reads and checks a whole MLI1 file, or llama.cpp's importance matrix in GGUF form.
///
/// @error format, shape  offset is the first wrong byte
/// @cost                 memory of the bytes once more
/// @source               mli(5), VALIDATION; gguf(5), IMPORTANCE MATRICES
ML_API Result<Imatrix> read_imatrix(std::span<const std::byte> bytes);

/// The same from a file; "-" is standard input. @error io
ML_API Result<Imatrix> open_imatrix(const std::string& path);

/// @return every defect of an MLI1 file, of more than 1000 their number as the last one; the first one of a
/// GGUF; none for a sound file
ML_API std::vector<Error> check_imatrix(std::span<const std::byte> bytes);

/// Writes an MLI1 file; the caller commits it. What it writes, read_imatrix() accepts.
///
/// @error format, shape  the matrix breaks a rule of the format
/// @error io
ML_API Result<void> write_imatrix(const Imatrix& imatrix, OutputFile& out);

/// Adds files: each sum is the double nearest to the exact total, so no order of the files changes a bit.
///
/// @param paths  at least one, of both forms; "-" is standard input. Notes of the result begin with the path
/// @error io, format, shape  a file cannot be read or is not sound; the error names it
/// @error shape  a file is made for another model than the first one; the message names the field
/// @error limit  the tokens of all files do not fit into 64 bits
/// @cost         memory of one matrix, and one more for each GGUF; MLI1 files are mapped
ML_API Result<Imatrix> merge_imatrices(std::span<const std::string> paths);

/// What one input's channels look like.
struct ImatrixStats {
  double mean = 0;  ///< mean square over all channels
  double max = 0;   ///< the largest mean square of a channel
  std::uint64_t max_channel = 0;
  double top_share = 0;      ///< share of the whole that the hundredth of channels with the largest sums has
  std::uint64_t n_zero = 0;  ///< channels that were never active
  std::array<double, 24> profile = {};  ///< mean square of consecutive channels, in as many groups
};
ML_API ImatrixStats imatrix_stats(const Imatrix& imatrix, std::uint32_t layer, ImatrixInput input);

/// How much each channel of an input matters to a quantizer (mlb(5), QUANTIZATION): its mean square over the
/// mean of all channels, as float32, at least 0.001.
///
/// @return empty where the sums say nothing: no tokens, or all of them zero
ML_API std::vector<float> imatrix_importance(const Imatrix& imatrix, std::uint32_t layer, ImatrixInput input);

/// Collects an importance matrix while sessions run: SessionOptions::imatrix names it. The tokens evaluated
/// between two calls of accept() are a part; parts are added one after the other, and within a part each
/// channel's squares in the order of the tokens, so the sums depend on nothing but the tokens and the parts.
class ML_API ImatrixCollector {
 public:
  /// @error shape  as imatrix_shape()
  static Result<ImatrixCollector> create(const ModelDesc& desc);
  /// Goes on from what was collected before, to the same bits as without the pause.
  /// @error shape  it is made for another model; the message names the field
  static Result<ImatrixCollector> resume(const ModelDesc& desc, Imatrix total);

  ImatrixCollector(ImatrixCollector&&) noexcept;
  ImatrixCollector& operator=(ImatrixCollector&&) noexcept;
  ~ImatrixCollector();

  /// Adds the part to the total and begins the next one.
  ///
  /// @error format  an input was NaN or infinite; the error names layer, input and channel, and the part is
  /// dropped
  Result<void> accept();
  /// Everything accepted so far.
  const Imatrix& total() const;

  struct Impl;

 private:
  friend class Engine;
  explicit ImatrixCollector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ml
