#pragma once

#include "formats/gguf.hpp"
#include "util/mapped_file.hpp"
#include "util/text_hash.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// A model in several GGUF files: NAME-00001-of-00003.gguf and so on. Each says in split.no which one it is
// (from 0), in split.count how many there are and in split.tensors.count how many tensors all of them hold;
// the first one has the metadata.

namespace ml {

struct GgufPart {
  std::string path;
  std::shared_ptr<const InputBytes> input;
  GgufFile file;
};

/// All files of a model: one, or its splits in order.
class GgufFiles {
 public:
  GgufFiles(GgufFiles&&) = default;  // not to be copied: the index points into parts()
  GgufFiles& operator=(GgufFiles&&) = default;

  /// Opens the splits that lie beside a first one, and checks that they belong together.
  ///
  /// @param path  of `input`; splits are found by its name
  /// @error format, limit, unsupported   of a file, or a split that is not what its name says
  /// @error io    a split is missing; names it
  static Result<GgufFiles> open(std::shared_ptr<const InputBytes> input, const std::string& path);

  const std::vector<GgufPart>& parts() const { return parts_; }
  /// The file that holds the metadata.
  const GgufFile& head() const { return parts_.front().file; }
  const std::string& path() const { return parts_.front().path; }

  /// One tensor and the file that holds it; both null where there is none of that name.
  struct Found {
    const GgufTensor* tensor = nullptr;
    const GgufPart* part = nullptr;
  };
  Found find(std::string_view name) const;

 private:
  GgufFiles() = default;
  Result<void> index();

  std::vector<GgufPart> parts_;
  TextMap<Found> tensors_;
};

/// Paths of all splits, the given one first; only the given one where it is no split.
///
/// @error format       split.no or split.count is not what the file's name says
/// @error unsupported  not the first split
Result<std::vector<std::string>> gguf_split_paths(const GgufFile& file, const std::string& path);

}  // namespace ml
