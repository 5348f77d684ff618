#include "mlb_info/details.hpp"

#include "common/progress.hpp"
#include "common/text.hpp"
#include "mlb_info/words.hpp"

#include <ml/hash.hpp>

#include <algorithm>

namespace mlb_info {

namespace {

// In parts, so that the progress line moves inside a large array.
void hash_bytes(ml::Hasher& hasher, std::span<const std::byte> bytes, cli::Progress& progress) {
  constexpr std::size_t kPart = std::size_t(1) << 24;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(kPart, bytes.size()));
    hasher.update(part);
    progress.advance(part.size());
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace

Details read_details(const ml::FileReport& report, const Wanted& wanted, const cli::Tool& tool) {
  Details details;
  std::uint64_t n_array_bytes = 0;
  for (const ml::InfoArray& array : report.arrays) n_array_bytes += array.n_bytes();
  const std::uint64_t total =
      (wanted.statistics() ? n_array_bytes : 0) + (wanted.hash ? n_array_bytes + report.n_bytes() : 0);
  cli::Progress progress(tool, "reading", total, cli::human_size);
  if (wanted.statistics()) {
    for (const ml::InfoArray& array : report.arrays) {
      details.stats.emplace_back();
      const auto weights = ml::load_weights(array);
      if (weights) details.stats.back() = ml::tensor_stats(weights->view, tool.threads());
      progress.advance(array.n_bytes());
    }
  }
  if (wanted.hash) {
    for (const ml::InfoArray& array : report.arrays) {
      ml::Hasher hasher;
      hash_bytes(hasher, array.data, progress);
      hash_bytes(hasher, array.scales, progress);
      for (const auto& part : array.more) hash_bytes(hasher, part, progress);
      details.array_hashes.push_back(hasher.hex());
    }
    for (const ml::InfoFile& file : report.files) {
      ml::Hasher hasher;
      hash_bytes(hasher, file.bytes, progress);
      details.file_hashes.push_back(hasher.hex());
    }
  }
  return details;
}

std::vector<EncodingTotal> encoding_totals(const ml::FileReport& report) {
  std::vector<EncodingTotal> totals;
  for (const ml::InfoArray& array : report.arrays) {
    const std::string name = encoding_text(array);
    auto found =
        std::find_if(totals.begin(), totals.end(), [&](const auto& total) { return total.name == name; });
    if (found == totals.end()) found = totals.insert(totals.end(), EncodingTotal{name});
    ++found->n_tensors;
    // What only has statistics, as sums in float64, is no weight.
    const bool weights = array.packed || (array.view && ml::find_encoding(array.encoding));
    found->n_weights += weights ? array.n_weights() : 0;
    found->n_bytes += array.n_bytes();
  }
  std::stable_sort(totals.begin(), totals.end(),
                   [](const auto& a, const auto& b) { return a.n_bytes > b.n_bytes; });
  return totals;
}

}  // namespace mlb_info
