// Adding importance matrices, and what they say.

#include "formats/imatrix.hpp"
#include "util/order_free_sum.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ml {

namespace {

Result<void> add_tokens(std::uint64_t& total, std::uint64_t tokens, std::string_view name) {
  if (!__builtin_add_overflow(total, tokens, &total)) return {};
  return Error{.status = Status::limit, .message = fmt::format("{} of all files exceed 64 bits", name)};
}

}  // namespace

Result<Imatrix> merge_imatrices(std::span<const std::string> paths) {
  if (paths.empty()) return Error{.status = Status::arg, .message = "no importance matrix to merge"};
  std::vector<ImatrixFile> files;
  Imatrix total;
  for (const std::string& path : paths) {
    ML_TRY(ImatrixFile file, open_imatrix_file(path));
    if (files.empty()) total.shape = file.head.shape;
    auto added = check_same_shape(file.head.shape, total.shape, paths.front());
    if (!added && file.bytes == nullptr) added.error().offset.reset();  // the header of an MLI1 file
    if (added) added = add_tokens(total.tokens, file.head.tokens, "tokens");
    if (added) added = add_tokens(total.classifier_tokens, file.head.classifier_tokens, "classifier_tokens");
    if (!added) return with_path(std::move(added.error()), path);
    for (const std::string& note : file.head.notes) total.notes.push_back(fmt::format("{}: {}", path, note));
    files.push_back(std::move(file));
  }
  total.sums.resize(total.shape.n_sums());
  OrderFreeSum sum;
  for (std::uint64_t i = 0; i < total.sums.size(); ++i) {
    sum.clear();
    for (const ImatrixFile& file : files) sum.add(file.sum(i));
    total.sums[i] = sum.rounded();
  }
  return total;
}

ImatrixStats imatrix_stats(const Imatrix& imatrix, std::uint32_t layer, ImatrixInput input) {
  const std::span<const double> sums = imatrix.of(layer, input);
  const double tokens = std::max(1.0, static_cast<double>(imatrix.tokens_of(input)));
  const double n = static_cast<double>(sums.size());
  ImatrixStats stats;
  const auto largest = std::max_element(sums.begin(), sums.end());
  stats.max = *largest / tokens;
  stats.max_channel = static_cast<std::uint64_t>(largest - sums.begin());
  stats.n_zero = static_cast<std::uint64_t>(std::count(sums.begin(), sums.end(), 0.0));

  std::vector<double> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto add = [](std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  const double total = add(sorted);
  stats.mean = total / tokens / n;
  if (total > 0) stats.top_share = add(std::span(sorted).first((sorted.size() + 99) / 100)) / total;

  const std::size_t n_groups = stats.profile.size();
  for (std::size_t group = 0; group < n_groups; ++group) {
    const std::size_t begin = group * sums.size() / n_groups;
    const std::size_t end = std::max(begin + 1, (group + 1) * sums.size() / n_groups);
    stats.profile[group] = add(sums.subspan(begin, end - begin)) / tokens / static_cast<double>(end - begin);
  }
  return stats;
}

std::vector<float> imatrix_importance(const Imatrix& imatrix, std::uint32_t layer, ImatrixInput input) {
  constexpr double kFloor = 0.001;
  const std::span<const double> sums = imatrix.of(layer, input);
  const auto tokens = static_cast<double>(imatrix.tokens_of(input));
  double mean = 0;
  for (const double sum : sums) mean += sum / tokens;
  mean /= static_cast<double>(sums.size());
  if (!(mean > 0)) return {};
  std::vector<float> importance;
  importance.reserve(sums.size());
  for (const double sum : sums) {
    importance.push_back(std::max(static_cast<float>(sum / tokens / mean), static_cast<float>(kFloor)));
  }
  return importance;
}

}  // namespace ml
