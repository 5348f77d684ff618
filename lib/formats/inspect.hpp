#pragma once

#include <ml/inspect.hpp>

#include "util/mapped_file.hpp"

#include <memory>
#include <string>

namespace ml {

// One function a format: what ml::inspect() says of it. With options.check a defect goes into the report.
Result<FileReport> inspect_mlb(std::shared_ptr<const InputBytes> input, const std::string& path,
                               const InspectOptions& options);
Result<FileReport> inspect_mlt(std::shared_ptr<const InputBytes> input, const std::string& path,
                               const InspectOptions& options);
Result<FileReport> inspect_imatrix(std::shared_ptr<const InputBytes> input, const std::string& path,
                                   const InspectOptions& options);
Result<FileReport> inspect_logits(std::shared_ptr<const InputBytes> input, const std::string& path,
                                  const InspectOptions& options);
Result<FileReport> inspect_session(std::shared_ptr<const InputBytes> input, const std::string& path,
                                   const InspectOptions& options);
Result<FileReport> inspect_mog(std::shared_ptr<const InputBytes> input, const std::string& path,
                               const InspectOptions& options);
Result<FileReport> inspect_safetensors(std::shared_ptr<const InputBytes> input, const std::string& path,
                                       const InspectOptions& options);
Result<FileReport> inspect_gguf(std::shared_ptr<const InputBytes> input, const std::string& path,
                                const InspectOptions& options);
Result<FileReport> inspect_folder(const std::string& folder, const InspectOptions& options);

/// Gives the report of one file its bytes and keeps them.
void add_file(FileReport& report, const std::string& path, std::shared_ptr<const InputBytes> input);

/// Files of a model that cannot be opened: the first few are defects, the others one defect together.
class UnopenedFiles {
 public:
  void add(Error error, FileReport& report);
  /// Once all are added. @param path  of the model
  void finish(const std::string& path, FileReport& report) const;

 private:
  static constexpr std::size_t kShown = 5;
  std::size_t n_ = 0;
};

}  // namespace ml
