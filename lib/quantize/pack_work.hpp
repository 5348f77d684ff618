#pragma once

#include <ml/status.hpp>

#include "quantize/encode_matrix.hpp"

#include <optional>
#include <string>

namespace ml {

/// A folder that keeps searched matrices, so that a job that was cut off does not search them again. A file
/// for each, named after a hash of the weights, the importance and the encoding; in it lies a hash of what
/// was found and of that name, so that a damaged or renamed file is searched anew.
class PackWork {
 public:
  /// @param folder  empty: keeps nothing
  /// @error io      cannot make the folder
  static Result<PackWork> open(const std::string& folder);

  /// @return what was kept of this matrix; nothing where there is no sound file of it
  std::optional<EncodedMatrix> load(Encoding encoding, const MatrixSource& source) const;
  /// @error io
  Result<void> keep(Encoding encoding, const MatrixSource& source, const EncodedMatrix& matrix) const;

 private:
  explicit PackWork(std::string folder) : folder_(std::move(folder)) {}
  std::string path_of(const std::string& key) const;

  std::string folder_;
};

}  // namespace ml
