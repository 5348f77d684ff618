// The driver on real checkpoints: weights made for Q8_0 or Q4_0 come out exact, headers as expected.

#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "formats/mlb_layout.hpp"
#include "models.hpp"

#include <fmt/format.h>

using namespace ml;

namespace {

// Where the interleaved row of a head comes from in the checkpoint's rotate-half order.
std::uint64_t checkpoint_row(Role role, std::uint64_t row, std::uint32_t head_dim) {
  if (role != Role::wq && role != Role::wk) return row;
  const std::uint64_t i = row % head_dim;
  return row - i + i / 2 + (i % 2) * (head_dim / 2);
}

void require_exact(const std::string& name, const QuantizeOptions& options) {
  CAPTURE(name);
  const Model source = open_model(data_path("oracle/" + name));
  const TempFolder folder;
  const QuantizeReport report = quantize_to(folder.file("model.mlb"), source, options);
  const Model written = open_model(folder.file("model.mlb"));
  for (const QuantizedTensor& tensor : report.tensors) {
    CAPTURE(tensor.name);
    CHECK(tensor.rms_error == 0);
    const TensorView& before = source.find(tensor.array.role, tensor.array.layer)->view;
    const TensorView& after = written.find(tensor.array.role, tensor.array.layer)->view;
    std::vector<float> x(before.cols);
    std::vector<float> y(after.cols);
    std::uint64_t different = 0;
    for (std::uint64_t row = 0; row < after.rows; ++row) {
      decode_row(before, checkpoint_row(tensor.array.role, row, source.desc().head_dim), x);
      decode_row(after, row, y);
      for (std::size_t c = 0; c < x.size(); ++c) different += x[c] != y[c];
    }
    CHECK(different == 0);
  }

  const auto golden =
      nlohmann::json::parse(read_file(data_path("oracle/" + name + "/golden.header.json")))["header"];
  for (const auto& [key, value] : golden.items()) {
    CAPTURE(key);
    const MlbField* field = find_mlb_field(key);
    REQUIRE(field != nullptr);
    const std::uint32_t word = mlb_field_word(report.header, *field);
    if (field->type == MlbType::f32) {
      CHECK(std::bit_cast<float>(word) == value.get<float>());
    } else {
      CHECK(word == value.get<std::uint32_t>());
    }
  }
}

}  // namespace

TEST_CASE("weights made for an encoding are written exactly, with the expected header", "[quantize]") {
  for (const ScaleType scales : {ScaleType::f32, ScaleType::f16}) {
    require_exact("llama2-mha", {.type = Encoding::q8_0, .scales = scales});
    require_exact("llama3-gqa-tied", {.type = Encoding::q8_0, .scales = scales});
    require_exact("llama3-gqa-q4", {.type = Encoding::q4_0, .scales = scales, .q4_rule = Q4Rule::round});
    require_exact("llama3-gqa-q4", {.type = Encoding::q4_0, .scales = scales, .q4_rule = Q4Rule::search});
  }
}

TEST_CASE("stories260K: the FFN grows from 172 to 192, errors stay small", "[quantize]") {
  const Model source = open_model(data_path("models/stories260K"));
  const TempFolder folder;
  const QuantizeReport eight = quantize_to(folder.file("8.mlb"), source, {.type = Encoding::q8_0});
  CHECK(eight.source_hidden_dim == 172);
  CHECK(eight.header.hidden_dim == 192);
  for (const QuantizedTensor& tensor : eight.tensors) CHECK(tensor.relative_error < 0.01);
  const QuantizeReport searched = quantize_to(folder.file("4.mlb"), source, {.type = Encoding::q4_0});
  const QuantizeReport rounded =
      quantize_to(folder.file("4r.mlb"), source, {.type = Encoding::q4_0, .q4_rule = Q4Rule::round});
  for (const QuantizedTensor& tensor : searched.tensors) CHECK(tensor.relative_error < 0.1);
  CHECK(searched.n_bytes == rounded.n_bytes);
  CHECK(read_file(folder.file("4.mlb")) != read_file(folder.file("4r.mlb")));
}

TEST_CASE("from a .mlb, rows are not moved again", "[quantize]") {
  const TempFolder folder;
  quantize_to(folder.file("a.mlb"), open_model(data_path("oracle/llama2-mha")), {.type = Encoding::q8_0});
  quantize_to(folder.file("b.mlb"), open_model(folder.file("a.mlb")), {.type = Encoding::q8_0});
  CHECK(read_file(folder.file("a.mlb")) == read_file(folder.file("b.mlb")));
}
