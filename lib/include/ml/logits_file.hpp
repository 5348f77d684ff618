#pragma once

#include <ml/evaluation.hpp>
#include <ml/export.hpp>
#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace ml {

/// How a logit file keeps a logit: the distance to the largest of its row in 16 bits (a relative error below
/// 2^-12, nothing is cut off), or the float32 itself.
enum class LogitPrecision : std::uint32_t { bits16 = 16, bits32 = 32 };

/// What a logit file says of all its rows (mllogits(5)).
struct LogitsHeader {
  std::uint32_t vocab = 0;
  LogitPrecision precision = LogitPrecision::bits16;
  std::uint32_t ctx = 0;          ///< inputs of a window
  std::uint32_t stride = 0;       ///< tokens between windows
  std::uint64_t n_rows = 0;       ///< tokens scored
  std::uint64_t tokens_hash = 0;  ///< tells texts and their windows apart; see ml-eval(1)

  ML_API std::uint64_t n_bytes() const;  ///< of the whole file
};

/// The token of a row, and what the exact logits said of it.
struct LogitsRow {
  std::uint32_t token = 0;
  std::uint32_t n_before = 0;  ///< tokens of its window before it
  TokenScore score;            ///< max is 0 where precision is bits16: what is kept are distances from it
};

/// Writes a logit file row by row. Memory does not grow with the file.
class ML_API LogitsWriter {
 public:
  /// Writes the header. @param out  stays alive  @error io
  static Result<LogitsWriter> create(OutputFile& out, const LogitsHeader& header);
  /// Appends a row. @param logits  vocab finite floats  @error io
  Result<void> write(const LogitsRow& row, std::span<const float> logits);
  /// @error arg  there were fewer or more rows than the header says
  Result<void> finish() const;

 private:
  LogitsWriter(OutputFile& out, const LogitsHeader& header) : out_(&out), header_(header) {}
  OutputFile* out_;
  LogitsHeader header_;
  std::uint64_t n_rows_ = 0;
  std::vector<std::byte> bytes_;
};

class ML_API LogitsFile;
/// What a model is compared with: another model, or logits that were saved.
using ModelOrLogits = std::variant<Model, LogitsFile>;

/// Opens what a path names of the two, which its first bytes say; a pipe is read once.
///
/// @param path  as for Model::open(); "-" is standard input
/// @error       as Model::open() and LogitsFile::open()
ML_API Result<ModelOrLogits> open_model_or_logits(const std::string& path, const OpenOptions& options = {});

/// A logit file, mapped. Its size and header are checked when it is opened, a row when it is read.
class ML_API LogitsFile {
 public:
  /// @return true for a regular file that begins as a logit file does
  static bool sniff(const std::string& path);
  /// @param path  may be a pipe; "-" is standard input  @error io, format
  static Result<LogitsFile> open(const std::string& path);
  /// The same of bytes that stay where they are. @error format
  static Result<LogitsFile> view(std::span<const std::byte> bytes);

  const LogitsHeader& header() const { return header_; }
  /// Reads a row.
  ///
  /// @param index   below n_rows
  /// @param logits  vocab floats: the logits, or with 16 bits the distances from the largest, negated
  /// @error format  its checksum does not match, or a value is out of range
  Result<LogitsRow> read(std::uint64_t index, std::span<float> logits) const;

 private:
  friend Result<ModelOrLogits> open_model_or_logits(const std::string& path, const OpenOptions& options);
  static Result<LogitsFile> open(std::shared_ptr<const InputBytes> input, const std::string& path);

  std::shared_ptr<const void> storage_;
  std::span<const std::byte> bytes_;
  std::string path_;
  LogitsHeader header_;
};

}  // namespace ml
