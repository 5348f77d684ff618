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

}  // namespace ml
