#include "formats/gguf_files.hpp"

#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

namespace ml {

namespace {

constexpr std::string_view kNumberKey = "split.no";
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorsKey = "split.tensors.count";
constexpr std::uint64_t kMaxSplits = 99999;  // five digits

Result<std::uint64_t> read_count(const GgufFile& file, std::string_view key, std::uint64_t missing) {
  const GgufValue* value = file.find(key);
  if (value == nullptr) return missing;
  const auto count = value->count();
  if (count) return *count;
  return Error{.status = Status::format,
               .message = fmt::format("{} must be a whole number of 0 or more", key),
               .offset = value->offset};
}

std::string split_suffix(std::uint64_t number, std::uint64_t n) {
  return fmt::format("-{:05}-of-{:05}.gguf", number + 1, n);
}

}  // namespace

Result<std::vector<std::string>> gguf_split_paths(const GgufFile& file, const std::string& path) {
  ML_TRY(const std::uint64_t n, read_count(file, kCountKey, 1));
  ML_TRY(const std::uint64_t number, read_count(file, kNumberKey, 0));
  if (n <= 1) return std::vector<std::string>{path};
  if (n > kMaxSplits || number >= n) {
    return Error{.status = Status::format,
                 .message = fmt::format("{} is {} and {} {}, must be below it and it at most {}", kNumberKey,
                                        number, kCountKey, n, kMaxSplits)};
  }
  const std::string suffix = split_suffix(number, n);
  if (!path.ends_with(suffix)) {
    return Error{
        .status = Status::format,
        .message = fmt::format("file is split {} of {}, so its name must end in {}", number + 1, n, suffix)};
  }
  const std::string stem = path.substr(0, path.size() - suffix.size());
  if (number != 0) {
    return Error{.status = Status::unsupported,
                 .message = fmt::format("file is split {} of {}: give the first one, {}", number + 1, n,
                                        stem + split_suffix(0, n))};
  }
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < n; ++i) paths.push_back(stem + split_suffix(i, n));
  return paths;
}

Result<GgufFiles> GgufFiles::open(std::shared_ptr<const InputBytes> input, const std::string& path) {
  GgufFiles files;
  ML_TRY(GgufFile first, read_gguf(input->data()));
  ML_TRY(const std::vector<std::string> paths, gguf_split_paths(first, path));
  files.parts_.push_back({path, std::move(input), std::move(first)});
  for (std::size_t i = 1; i < paths.size(); ++i) {
    ML_TRY(auto next, InputBytes::open_regular(paths[i]));
    auto file = read_gguf(next->data());
    if (!file) return with_path(std::move(file.error()), paths[i]);
    const auto n = read_count(*file, kCountKey, 0);
    const auto number = read_count(*file, kNumberKey, 0);
    if (!n || !number || *n != paths.size() || *number != i) {
      return Error{.status = Status::format,
                   .message = fmt::format("{} and {} must be {} and {} as the file's name says", kNumberKey,
                                          kCountKey, i, paths.size()),
                   .path = paths[i]};
    }
    files.parts_.push_back({paths[i], std::move(next), std::move(*file)});
  }
  ML_CHECK(files.index());
  return files;
}

Result<void> GgufFiles::index() {
  std::uint64_t n = 0;
  for (const GgufPart& part : parts_) n += part.file.tensors.size();
  ML_TRY(const std::uint64_t said, read_count(head(), kTensorsKey, n));
  if (said != n) {
    return Error{.status = Status::format,
                 .message = fmt::format("{} is {}, the files hold {}", kTensorsKey, said, n)};
  }
  tensors_.reserve(n);
  for (const GgufPart& part : parts_) {
    for (const GgufTensor& tensor : part.file.tensors) {
      const auto [entry, fresh] = tensors_.emplace(tensor.name, Found{&tensor, &part});
      if (fresh) continue;
      return Error{.status = Status::format,
                   .message = fmt::format("tensor is also in {}", entry->second.part->path),
                   .path = part.path,
                   .tensor = show_name(tensor.name)};
    }
  }
  return {};
}

GgufFiles::Found GgufFiles::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? Found() : found->second;
}

}  // namespace ml
