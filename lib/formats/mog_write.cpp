#include "formats/mog_write.hpp"

#include "formats/mog_layout.hpp"
#include "util/try.hpp"

#include <algorithm>

namespace ml {

namespace {

std::uint64_t round_up(std::uint64_t n) { return (n + kMogAlignment - 1) / kMogAlignment * kMogAlignment; }

template <class Part>
Result<void> write_ordered(OutputFile& out, Part part) {
  order_mog(part);
  return out.write(std::as_bytes(std::span(&part, 1)));
}

}  // namespace

MogPlan plan_mog(std::uint32_t architecture, const MogConfig& config, std::vector<std::byte> tokenizer,
                 std::span<MlbArray* const> tensors) {
  MogPlan plan;
  plan.config = config;
  plan.tokenizer = std::move(tokenizer);
  const std::vector<MogSlot> slots = mog_slots(config.n_layers);
  const ModelDesc desc = mog_desc(config);
  MogPreamble& preamble = plan.preamble;
  preamble.architecture = architecture;
  std::uint64_t end = kMogHeadBytes;
  if (!plan.tokenizer.empty()) {
    preamble.tokenizer_offset = round_up(end);
    preamble.tokenizer_size = plan.tokenizer.size();
    end = preamble.tokenizer_offset + preamble.tokenizer_size;
  }
  preamble.directory_offset = round_up(end);
  preamble.n_records = static_cast<std::uint32_t>(slots.size());
  end = preamble.directory_offset + slots.size() * sizeof(MogRecord);
  preamble.payload_offset = round_up(end);
  end = preamble.payload_offset;
  plan.records.resize(slots.size());
  auto tensor = tensors.begin();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (tensor == tensors.end() || MogSlot{(*tensor)->role, (*tensor)->layer} != slots[i]) continue;
    MlbArray& array = **tensor++;
    const TensorView view{
        .encoding = array.encoding, .scale_type = array.scale_type, .rows = array.rows, .cols = array.cols};
    array.offset = round_up(end);
    array.n_bytes = array.rows * view.row_bytes();
    array.n_scale_bytes = array.rows * view.row_scale_bytes();
    array.scale_offset = array.n_scale_bytes != 0 ? round_up(array.offset + array.n_bytes) : 0;
    end = array.end();
    plan.records[i] = {.data_offset = array.offset,
                       .scale_offset = array.scale_offset,
                       .n_data_bytes = array.n_bytes,
                       .n_scale_bytes = array.n_scale_bytes,
                       .dims = mog_dims(desc, array.role),
                       .encoding = mog_encoding_id(array.encoding, array.scale_type)};
  }
  preamble.payload_size = end - preamble.payload_offset;
  plan.n_bytes = end;
  return plan;
}

Result<void> pad_mog(OutputFile& out, std::uint64_t start, std::uint64_t offset) {
  return out.write_zeros(offset - (out.position() - start));
}

Result<void> write_mog_head(const MogPlan& plan, OutputFile& out) {
  const std::uint64_t start = out.position();
  ML_CHECK(write_ordered(out, plan.preamble));
  ML_CHECK(write_ordered(out, plan.config));
  if (!plan.tokenizer.empty()) {
    ML_CHECK(pad_mog(out, start, plan.preamble.tokenizer_offset));
    ML_CHECK(out.write(plan.tokenizer));
  }
  ML_CHECK(pad_mog(out, start, plan.preamble.directory_offset));
  for (const MogRecord& record : plan.records) ML_CHECK(write_ordered(out, record));
  return pad_mog(out, start, plan.preamble.payload_offset);
}

}  // namespace ml
