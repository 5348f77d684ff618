#include "formats/mlb_layout.hpp"
#include "formats/mog_layout.hpp"
#include "formats/mog_read.hpp"
#include "formats/value_scan.hpp"

#include <algorithm>

namespace ml {

std::optional<Error> find_mog_quant_defect(std::span<const std::byte> bytes, const MogFile& file) {
  std::vector<Stretch> stretches;
  for (const MlbArray& array : file.tensors) {
    const TensorView view = array_view(bytes, array);
    add_value_stretches(view, array.offset, array.scale_offset, mog_slot_name({array.role, array.layer}),
                        stretches);
  }
  std::erase_if(stretches, [](const Stretch& stretch) { return stretch.rule != ValueRule::quants; });
  std::vector<Error> defects = find_value_defects(bytes, stretches, 0);
  if (defects.empty()) return std::nullopt;
  return std::move(defects.front());
}

std::vector<Error> check_mog(std::span<const std::byte> bytes, unsigned threads,
                             const ReadProgress& progress) {
  MogDirectory directory = read_mog_directory(bytes, true);
  const MogFile& file = directory.file;
  std::vector<Stretch> stretches;
  if (directory.defects.empty()) {
    const MogPreamble& preamble = file.preamble;
    std::uint64_t end = kMogHeadBytes;
    const auto gap = [&](std::uint64_t begin, std::uint64_t next, const std::string& before) {
      add_padding_stretch(end, begin, before, stretches);
      end = next;
    };
    if (preamble.tokenizer_offset != 0) {
      gap(preamble.tokenizer_offset, preamble.tokenizer_offset + preamble.tokenizer_size, "tokenizer");
    }
    gap(preamble.directory_offset, preamble.directory_offset + preamble.n_records * sizeof(MogRecord),
        "directory");
    gap(preamble.payload_offset, preamble.payload_offset, "payload");
    std::string name;
    for (const MlbArray& array : file.tensors) {
      name = mog_slot_name({array.role, array.layer});
      gap(array.offset, array.offset + array.n_bytes, name);
      if (array.n_scale_bytes != 0) gap(array.scale_offset, array.end(), name);
    }
    gap(bytes.size(), bytes.size(), name);
  }
  for (const MlbArray& array : file.tensors) {
    const TensorView view = array_view(bytes, array);
    add_value_stretches(view, array.offset, array.scale_offset, mog_slot_name({array.role, array.layer}),
                        stretches);
  }
  std::stable_sort(stretches.begin(), stretches.end(),
                   [](const Stretch& a, const Stretch& b) { return a.offset < b.offset; });
  std::vector<Error> defects = find_value_defects(bytes, stretches, threads, progress);
  for (Error& defect : directory.defects) defects.push_back(std::move(defect));
  return defects;
}

}  // namespace ml
