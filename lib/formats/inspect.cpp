#include "formats/inspect.hpp"

#include "formats/registry.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace ml {

namespace {

Result<const Format*> inspected_format(std::span<const std::byte> bytes) {
  ML_TRY(const Format* format, sniff_format(bytes));
  if (format->inspect != nullptr) return format;
  return Error{.status = Status::unsupported,
               .message = fmt::format("file is {}, which this version cannot look into", format->title)};
}

Result<std::uint64_t> inspect_start(std::span<const std::byte> start) {
  ML_TRY(const Format* format, inspected_format(start));
  return format->most_bytes(start);
}

}  // namespace

std::uint64_t FileReport::n_bytes() const {
  std::uint64_t sum = 0;
  for (const InfoFile& file : files) sum += file.bytes.size();
  return sum;
}

void add_file(FileReport& report, const std::string& path, std::shared_ptr<const InputBytes> input) {
  report.files.push_back({path, input->data()});
  report.storage.push_back(std::move(input));
}

void UnopenedFiles::add(Error error, FileReport& report) {
  if (++n_ <= kShown) report.defects.push_back(std::move(error));
}

void UnopenedFiles::finish(const std::string& path, FileReport& report) const {
  if (n_ <= kShown) return;
  const std::size_t n_more = n_ - kShown;
  report.defects.push_back(
      {.status = Status::io,
       .message = fmt::format("{} more {} cannot be opened", n_more, n_more == 1 ? "file" : "files"),
       .path = path});
}

std::string file_format(const std::string& path) {
  if (path == "-") return {};
  if (!model_folder_of(path).empty()) return "folder";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};  // a pipe can be read only once
  const auto input = InputBytes::open(path, {}, format_start);
  const auto format = input ? sniff_format((*input)->data()) : Result<const Format*>(nullptr);
  return format && *format != nullptr ? std::string((*format)->name) : std::string();
}

Result<FileReport> inspect(const std::string& path, const InspectOptions& options) {
  if (const std::string folder = model_folder_of(path); !folder.empty())
    return inspect_folder(folder, options);
  ML_TRY(auto input, InputBytes::open(path, {}, inspect_start));
  const auto format = inspected_format(input->data());
  if (!format) return with_path(format.error(), path);
  auto report = (*format)->inspect(std::move(input), path, options);
  if (!report) return with_path(std::move(report.error()), path);
  for (Error& defect : report->defects) defect = with_path(std::move(defect), path);
  return report;
}

}  // namespace ml
