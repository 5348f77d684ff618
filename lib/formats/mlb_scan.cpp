#include "formats/mlb_scan.hpp"

#include "formats/mlb_layout.hpp"
#include "formats/value_scan.hpp"

#include <algorithm>

namespace ml {

namespace {

void add_padding(std::vector<Stretch>& stretches, std::uint64_t end, std::uint64_t file_size,
                 const std::string& name) {
  const std::uint64_t padded = (end + kMlbAlignment - 1) / kMlbAlignment * kMlbAlignment;
  add_padding_stretch(end, std::min(padded, file_size), name, stretches);
}

}  // namespace

std::optional<Error> find_mlb_quant_defect(std::span<const std::byte> bytes, const MlbFile& file) {
  std::vector<Stretch> stretches;
  for (const MlbArray& array : file.arrays) {
    if (array.encoding != Encoding::q8_0) continue;
    stretches.push_back(
        {ValueRule::quants, array.offset, array.n_bytes, array_view(bytes, array), array.name()});
  }
  std::vector<Error> defects = find_value_defects(bytes, stretches, 0);
  if (defects.empty()) return std::nullopt;
  return std::move(defects.front());
}

std::vector<Error> check_mlb(std::span<const std::byte> bytes, unsigned threads,
                             const ReadProgress& progress) {
  MlbDirectory directory = read_mlb_directory(bytes);
  const MlbFile& file = directory.file;
  std::vector<Stretch> stretches;
  if (!file.layer_flags.empty() && !file.arrays.empty()) {
    add_padding(stretches, kMlbHeaderBytes + file.layer_flags.size(), bytes.size(), "layer flags");
  }
  for (const MlbArray& array : file.arrays) {
    const TensorView view = array_view(bytes, array);
    const std::string name = array.name();
    add_value_stretches(view, array.offset, array.scale_offset, name, stretches);
    add_padding(stretches, array.offset + array.n_bytes, bytes.size(), name);
    if (array.n_scale_bytes != 0) add_padding(stretches, array.end(), bytes.size(), name);
  }
  std::stable_sort(stretches.begin(), stretches.end(),
                   [](const Stretch& a, const Stretch& b) { return a.offset < b.offset; });
  std::vector<Error> defects = find_value_defects(bytes, stretches, threads, progress);
  for (Error& defect : directory.defects) defects.push_back(std::move(defect));
  return defects;
}

}  // namespace ml
