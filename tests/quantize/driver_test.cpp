// The whole-model driver on synthetic models: sizes, order of rows, padding, copies, errors, threads.

#include "blocks.hpp"
#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "formats/mlb.hpp"
#include "formats/mlb_layout.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"

#include <ml/quantize.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

using namespace ml;

namespace {

ModelDesc small_desc() {
  ModelDesc desc;
  desc.dim = 64;
  desc.n_heads = 4;
  desc.n_kv_heads = 2;
  desc.head_dim = 16;
  desc.hidden_dim = 96;
  desc.vocab = 7;
  desc.max_seq = 128;
  desc.norm_eps = 1e-5f;
  desc.rope.rot_dim = 16;
  desc.layers.resize(2);
  return desc;
}

// A model whose tensors tests may change before it is put together. Every weight tells where it is from.
struct Source {
  ModelDesc desc;
  std::vector<Tensor> tensors;
  std::vector<Model::Storage> storage;

  explicit Source(ModelDesc wanted) : desc(std::move(wanted)) {
    add(Role::tok_emb, kNoLayer);
    for (std::uint32_t layer = 0; layer < desc.n_layers(); ++layer) {
      for (const Role role : layer_roles(desc, desc.layers[layer])) add(role, layer);
    }
    add(Role::final_norm, kNoLayer);
    if (!desc.shared_classifier) add(Role::wcls, kNoLayer);
  }

  void add(Role role, std::uint32_t layer) {
    const Shape shape = role_shape(desc, role);
    std::vector<float> values(shape.rows * shape.cols);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          static_cast<float>((i * 37 + static_cast<std::size_t>(role) * 101 + layer % 7) % 509) / 256.0f -
          1.0f;
    }
    tensors.push_back({.role = role, .layer = layer, .name = "src." + tensor_name(role, layer)});
    set(tensors.back(), shape, values);
  }

  Tensor& at(Role role, std::uint32_t layer = kNoLayer) {
    for (Tensor& tensor : tensors) {
      if (tensor.role == role && tensor.layer == layer) return tensor;
    }
    throw std::logic_error("no such tensor");
  }

  void set(Tensor& tensor, Shape shape, const std::vector<float>& values) {
    auto data = std::make_shared<std::vector<std::byte>>(4 * values.size());
    store_le(data->data(), std::span(values));
    tensor.view = {.rows = shape.rows, .cols = shape.cols, .data = *data};
    storage.push_back(data);
  }

  void change(Role role, std::uint32_t layer, std::size_t index, float value) {
    Tensor& tensor = at(role, layer);
    std::vector<float> values(tensor.view.n_weights());
    load_le(tensor.view.data.data(), std::span(values));
    values[index] = value;
    set(tensor, {tensor.view.rows, tensor.view.cols}, values);
  }

  void encode_as_bf16(Role role, std::uint32_t layer) {
    Tensor& tensor = at(role, layer);
    auto data = std::make_shared<std::vector<std::byte>>(2 * tensor.view.n_weights());
    for (std::size_t i = 0; i < tensor.view.n_weights(); ++i) {
      const auto bits = load_le<std::uint32_t>(tensor.view.data.data() + 4 * i);
      store_le(data->data() + 2 * i, static_cast<std::uint16_t>(bits >> 16));
    }
    tensor.view.encoding = Encoding::bf16;
    tensor.view.data = *data;
    storage.push_back(data);
  }

  Model model() const {
    auto result = Model::assemble(desc, tensors, storage);
    REQUIRE(result);
    return *std::move(result);
  }
};

struct Written {
  std::string bytes;
  QuantizeReport report;
};

Result<Written> quantize(const Model& model, const QuantizeOptions& options) {
  const TempFolder folder;
  const std::string path = folder.file("out.mlb");
  auto out = OutputFile::create(path, {});
  REQUIRE(out);
  auto report = quantize_model(model, options, *out);
  if (!report) return report.error();
  REQUIRE(out->commit());
  return Written{read_file(path), *std::move(report)};
}

Model reopen(const std::string& bytes) {
  const TempFolder folder;
  folder.write("model.mlb", bytes);
  auto input = InputBytes::open(folder.file("model.mlb"));
  REQUIRE(input);
  auto model = open_mlb(*input, {});
  if (!model) FAIL(describe(model.error()));
  return *std::move(model);
}

std::vector<float> row_of(const Model& model, Role role, std::uint32_t layer, std::uint64_t row) {
  const TensorView& view = model.find(role, layer)->view;
  std::vector<float> values(view.cols);
  decode_row(view, row, values);
  return values;
}

}  // namespace

TEST_CASE("the plan is exact to the byte, for every type", "[quantize]") {
  ModelDesc desc = small_desc();
  desc.hidden_dim = 100;
  const Model model = Source(desc).model();
  for (const Encoding type : {Encoding::q8_0, Encoding::q4_0}) {
    for (const ScaleType scales : {ScaleType::f32, ScaleType::f16}) {
      for (const std::uint32_t mask : {0u, 4u | 64u}) {
        if (type == Encoding::q8_0 && mask != 0) continue;
        const QuantizeOptions options{.type = type, .scales = scales, .q8_mask = mask, .threads = 1};
        const auto plan = plan_quantize(model, options);
        REQUIRE(plan);
        const auto written = quantize(model, options);
        REQUIRE(written);
        CHECK(written->bytes.size() == plan->n_bytes);
        CHECK(written->report.bits_per_weight == plan->bits_per_weight);
        CHECK(plan->source_hidden_dim == 100);
        CHECK(plan->header.hidden_dim == 128);
        CHECK(check_mlb(std::as_bytes(std::span(written->bytes))).empty());
        const Model again = reopen(written->bytes);
        CHECK(again.desc().hidden_dim == 128);
        CHECK(again.find(Role::wq, 0)->view.encoding == (mask != 0 ? Encoding::q8_0 : type));
      }
    }
  }
}

TEST_CASE("hidden_dim grows by zero rows and zero columns", "[quantize]") {
  ModelDesc desc = small_desc();
  desc.hidden_dim = 100;
  const Model model = Source(desc).model();
  const auto written = quantize(model, {.type = Encoding::q8_0});
  REQUIRE(written);
  const Model again = reopen(written->bytes);
  for (const Role role : {Role::w1, Role::w3}) {
    CHECK(row_of(again, role, 1, 100) == std::vector<float>(64, 0.0f));
    CHECK(row_of(again, role, 1, 127) == std::vector<float>(64, 0.0f));
    CHECK(row_of(again, role, 1, 99) != std::vector<float>(64, 0.0f));
  }
  const std::vector<float> w2 = row_of(again, Role::w2, 0, 5);
  const std::vector<float> source = row_of(model, Role::w2, 0, 5);
  for (std::size_t c = 0; c < 128; ++c) {
    CHECK(w2[c] == Approx(c < 100 ? source[c] : 0.0f).margin(0.01));
  }
}

TEST_CASE("a model is put together of just the tensors that its description asks for", "[quantize]") {
  const auto refusal = [](const std::function<void(Source&)>& change) {
    Source source(small_desc());
    change(source);
    const auto model = Model::assemble(source.desc, source.tensors, source.storage);
    return model ? "" : describe(model.error());
  };
  CHECK(refusal([](Source&) {}).empty());
  CHECK(refusal([](Source& s) { s.at(Role::w2, 1).layer = 2; }) ==
        "tensor of layer 2, but the model has 2 layers (ML_E_FORMAT, tensor src.layers.1.w2)");
  CHECK(refusal([](Source& s) { s.add(Role::w2, 1); }) ==
        "layers.1.w2 is there twice (ML_E_FORMAT, tensor src.layers.1.w2)");
  CHECK(refusal([](Source& s) {
          std::erase_if(s.tensors, [](const Tensor& t) { return t.role == Role::wk; });
        }) == "tensor is missing (ML_E_FORMAT, tensor layers.0.wk)");
  CHECK(refusal([](Source& s) { s.at(Role::wv, 0).view.rows = 16; }) ==
        "shape is 16 x 64, must be 32 x 64 (ML_E_SHAPE, tensor src.layers.0.wv)");
}

TEST_CASE("quants that stay grow by rows of zeros", "[quantize]") {
  ModelDesc desc = small_desc();
  desc.hidden_dim = 72;
  for (const Encoding encoding : {Encoding::q8_0, Encoding::q4_0}) {
    Source source(desc);
    Tensor& w1 = source.at(Role::w1, 0);
    const std::size_t block_bytes = encoding_info(encoding).block_bytes;
    auto quants = std::make_shared<std::vector<std::byte>>(72 * 2 * block_bytes, std::byte{0x19});
    auto scales = std::make_shared<std::vector<std::byte>>(4 * 72 * 2);
    for (std::size_t i = 0; i < 72 * 2; ++i) store_le(scales->data() + 4 * i, 0.5f);
    w1.view = {.encoding = encoding,
               .scale_type = ScaleType::f32,
               .rows = 72,
               .cols = 64,
               .data = *quants,
               .scales = *scales};
    source.storage.push_back(quants);
    source.storage.push_back(scales);
    for (const ScaleType type : {ScaleType::f32, ScaleType::f16}) {
      const auto written = quantize(source.model(), {.type = encoding, .scales = type});
      REQUIRE(written);
      const Model model = reopen(written->bytes);
      const TensorView& view = model.find(Role::w1, 0)->view;
      REQUIRE(view.rows == 96);
      std::vector<float> row(64);
      decode_row(view, 71, row);
      CHECK(row[0] == (encoding == Encoding::q8_0 ? 25 : 1) * 0.5f);
      for (std::uint64_t r = 72; r < 96; ++r) {
        decode_row(view, r, row);
        CHECK(row == std::vector<float>(64));
      }
    }
  }
}

TEST_CASE("rotate-half rows become interleaved pairs, where they rotate", "[quantize]") {
  ModelDesc desc = small_desc();
  desc.rope.layout = RopeLayout::rotate_half;
  desc.qkv_bias = desc.qk_norm = desc.attn_gate = true;
  for (const std::uint32_t rot_dim : {16u, 4u}) {
    desc.rope.rot_dim = rot_dim;
    const Model model = Source(desc).model();
    const auto written = quantize(model, {.type = Encoding::q8_0});
    REQUIRE(written);
    const Model again = reopen(written->bytes);
    CHECK(again.desc().rope.layout == RopeLayout::interleaved);
    CHECK(again.desc().rope.rot_dim == rot_dim);
    const auto source_of = [&](std::uint64_t row) {
      const std::uint64_t i = row % 16;
      if (i >= rot_dim) return row;
      return row - i + (i % 2 == 0 ? i / 2 : i / 2 + rot_dim / 2);
    };
    std::set<std::uint64_t> used;
    for (std::uint64_t row = 0; row < 64; ++row) used.insert(source_of(row));
    CHECK(used.size() == 64);
    for (std::uint64_t row = 0; row < 64; ++row) {
      const std::vector<float> expected = row_of(model, Role::wq, 1, source_of(row));
      const std::vector<float> got = row_of(again, Role::wq, 1, row);
      for (std::size_t c = 0; c < 64; ++c) CHECK(got[c] == Approx(expected[c]).margin(0.01));
      CHECK(row_of(again, Role::bq, 0, 0)[row] == row_of(model, Role::bq, 0, 0)[source_of(row)]);
      const float gate = row_of(model, Role::wg, 0, row)[3];
      CHECK(row_of(again, Role::wg, 0, row)[3] == Approx(gate).margin(0.01));
    }
    for (std::uint64_t row = 0; row < 32; ++row) {
      CHECK(row_of(again, Role::bk, 0, 0)[row] == row_of(model, Role::bk, 0, 0)[source_of(row)]);
      CHECK(row_of(again, Role::bv, 0, 0)[row] == row_of(model, Role::bv, 0, 0)[row]);
      CHECK(row_of(again, Role::wk, 0, row)[9] ==
            Approx(row_of(model, Role::wk, 0, source_of(row))[9]).margin(0.01));
    }
    for (std::uint64_t i = 0; i < 16; ++i) {
      CHECK(row_of(again, Role::q_norm, 1, 0)[i] == row_of(model, Role::q_norm, 1, 0)[source_of(i)]);
      CHECK(row_of(again, Role::k_norm, 1, 0)[i] == row_of(model, Role::k_norm, 1, 0)[source_of(i)]);
    }
  }
}

TEST_CASE("quants that are there already are kept bit for bit", "[quantize]") {
  for (const Encoding type : {Encoding::q8_0, Encoding::q4_0}) {
    const auto first = quantize(Source(small_desc()).model(), {.type = type});
    REQUIRE(first);
    const Model model = reopen(first->bytes);
    const auto again = quantize(model, {.type = type});
    REQUIRE(again);
    CHECK(again->bytes == first->bytes);
    for (const QuantizedTensor& tensor : again->report.tensors) {
      CHECK(tensor.copied);
      CHECK(tensor.rms_error == 0);
    }
    // f32 -> f16: quants stay, scales are rounded; f16 -> f32 loses nothing.
    const auto half = quantize(model, {.type = type, .scales = ScaleType::f16});
    REQUIRE(half);
    const Model half_model = reopen(half->bytes);
    const TensorView& before = model.find(Role::w2, 1)->view;
    const TensorView& after = half_model.find(Role::w2, 1)->view;
    CHECK(std::memcmp(before.data.data(), after.data.data(), before.data.size()) == 0);
    CHECK(load_le<std::uint16_t>(after.scales.data() + 2) ==
          f32_to_f16(load_le<float>(before.scales.data() + 4)));
    const auto wide = quantize(half_model, {.type = type, .scales = ScaleType::f32});
    REQUIRE(wide);
    for (const QuantizedTensor& tensor : wide->report.tensors) CHECK(tensor.rms_error == 0);
    const auto narrow = quantize(reopen(wide->bytes), {.type = type, .scales = ScaleType::f16});
    REQUIRE(narrow);
    CHECK(narrow->bytes == half->bytes);
  }
}

TEST_CASE("reports: exact weights have no error, others a measured one", "[quantize]") {
  Source source(small_desc());
  Tensor& wq = source.at(Role::wq, 0);
  std::vector<float> exact(wq.view.n_weights());
  for (std::size_t i = 0; i < exact.size(); ++i)
    exact[i] = static_cast<float>(static_cast<int>(i * 7 % 255) - 127) * 0x1p-9f;
  for (std::size_t i = 0; i < exact.size(); i += 32) exact[i] = 127 * 0x1p-9f;
  source.set(wq, {64, 64}, exact);
  source.encode_as_bf16(Role::wk, 0);
  const Model model = source.model();
  const auto written = quantize(model, {.type = Encoding::q8_0});
  REQUIRE(written);
  const Model again = reopen(written->bytes);
  for (const QuantizedTensor& tensor : written->report.tensors) {
    CAPTURE(tensor.name);
    double error = 0;
    double square = 0;
    for (std::uint64_t row = 0; row < tensor.array.rows; ++row) {
      const auto x = row_of(model, tensor.array.role, tensor.array.layer, row);
      const auto y = row_of(again, tensor.array.role, tensor.array.layer, row);
      for (std::size_t c = 0; c < x.size(); ++c) {
        error += (double(x[c]) - y[c]) * (double(x[c]) - y[c]);
        square += double(x[c]) * x[c];
      }
    }
    const double n = static_cast<double>(tensor.array.rows * tensor.array.cols);
    CHECK(tensor.rms_error == Approx(std::sqrt(error / n)).epsilon(1e-5));
    CHECK(tensor.relative_error == Approx(std::sqrt(error / square)).epsilon(1e-5));
    CHECK(tensor.source == "src." + tensor.name);
    if (tensor.name == "layers.0.wq") CHECK(tensor.rms_error == 0);
    if (tensor.array.encoding == Encoding::f32) CHECK(tensor.rms_error == 0);
    if (tensor.name == "layers.1.w2") CHECK(tensor.rms_error > 0);
  }
}

TEST_CASE("file and report do not depend on the threads", "[quantize]") {
  ModelDesc desc = small_desc();
  desc.vocab = 20000;  // several pieces
  desc.hidden_dim = 4000;
  const Model model = Source(desc).model();
  for (const Encoding type : {Encoding::q8_0, Encoding::q4_0}) {
    const auto first = quantize(model, {.type = type, .threads = 1});
    REQUIRE(first);
    for (const unsigned threads : {2u, 3u, 7u}) {
      std::uint64_t last = 0;
      QuantizeOptions options{.type = type, .threads = threads};
      options.progress = [&](std::uint64_t done, std::uint64_t total) {
        CHECK(done >= last);
        CHECK(total == first->bytes.size());
        last = done;
      };
      const auto other = quantize(model, options);
      REQUIRE(other);
      CHECK(last == first->bytes.size());
      CHECK(other->bytes == first->bytes);
      for (std::size_t i = 0; i < first->report.tensors.size(); ++i) {
        CHECK(other->report.tensors[i].rms_error == first->report.tensors[i].rms_error);
        CHECK(other->report.tensors[i].relative_error == first->report.tensors[i].relative_error);
      }
    }
  }
}

TEST_CASE("weights that are not finite are refused by tensor, row and column, the first one", "[quantize]") {
  ModelDesc desc = small_desc();
  desc.vocab = 20000;
  Source source(desc);
  source.change(Role::tok_emb, kNoLayer, 19999 * 64 + 3, std::numeric_limits<float>::quiet_NaN());
  source.change(Role::tok_emb, kNoLayer, 12345 * 64 + 63, -std::numeric_limits<float>::infinity());
  const Model model = source.model();
  for (const unsigned threads : {1u, 2u, 7u}) {
    const auto written = quantize(model, {.type = Encoding::q8_0, .threads = threads});
    REQUIRE_FALSE(written);
    CHECK(describe(written.error()) ==
          "weight of row 12345, column 63 is infinite, must be finite (ML_E_FORMAT, tensor src.tok_emb)");
  }
  Source norm(small_desc());
  norm.change(Role::ffn_norm, 1, 9, std::numeric_limits<float>::quiet_NaN());
  const auto written = quantize(norm.model(), {.type = Encoding::q4_0});
  REQUIRE_FALSE(written);
  CHECK(describe(written.error()) ==
        "weight of row 0, column 9 is NaN, must be finite (ML_E_FORMAT, tensor src.layers.1.ffn_norm)");
}

TEST_CASE("a row that moved is named as the source numbers it", "[quantize]") {
  ModelDesc desc = small_desc();
  desc.rope.layout = RopeLayout::rotate_half;
  Source source(desc);
  source.change(Role::wk, 0, 9 * 64 + 1, std::numeric_limits<float>::quiet_NaN());
  const auto written = quantize(source.model(), {.type = Encoding::q8_0});
  REQUIRE_FALSE(written);
  CHECK(written.error().message == "weight of row 9, column 1 is NaN, must be finite");
}

TEST_CASE("a scale past f16 is refused by tensor, row and block", "[quantize]") {
  Source source(small_desc());
  source.change(Role::w1, 1, 17 * 64 + 40, 1e9f);
  const Model model = source.model();
  for (const Encoding type : {Encoding::q8_0, Encoding::q4_0}) {
    const auto written = quantize(model, {.type = type, .scales = ScaleType::f16});
    REQUIRE_FALSE(written);
    CHECK(describe(written.error()) ==
          "scale of row 17, block 1 is over 65504 and cannot be stored as f16 (ML_E_LIMIT, tensor "
          "src.layers.1.w1)");
    const auto wide = quantize(model, {.type = type});
    REQUIRE(wide);
    const auto copy = quantize(reopen(wide->bytes), {.type = type, .scales = ScaleType::f16});
    REQUIRE_FALSE(copy);
    CHECK(copy.error().message == written.error().message);
  }
}

TEST_CASE("options and shapes that cannot be", "[quantize]") {
  const Model model = Source(small_desc()).model();
  CHECK(plan_quantize(model, {.type = Encoding::f16}).error().status == Status::arg);
  CHECK(plan_quantize(model, {.type = Encoding::q8_0, .q8_mask = 1}).error().status == Status::arg);
  CHECK(describe(plan_quantize(model, {.type = Encoding::q4_0, .q8_mask = 256}).error()) ==
        "q8_mask is 256, must not have bits beyond 127 (ML_E_FORMAT)");
  ModelDesc odd = small_desc();
  odd.dim = 60;
  odd.head_dim = 8;
  odd.rope.rot_dim = 8;
  CHECK(describe(plan_quantize(Source(odd).model(), {}).error()) ==
        "dim is 60, must be a multiple of 32 (ML_E_SHAPE)");
  CHECK(plan_quantize(model, {.max_seq = 100})->header.max_seq == 100);
  CHECK(plan_quantize(model, {.max_seq = 1000})->header.max_seq == 128);
  CHECK(find_q8_class("Gate_UP") == 32u);
  CHECK_FALSE(find_q8_class("gate"));
}

TEST_CASE("an importance matrix goes with what it can weigh", "[quantize]") {
  const Source source(small_desc());
  Imatrix imatrix{.shape = *imatrix_shape(source.desc), .tokens = 1, .classifier_tokens = 1, .sums = {}};
  for (std::uint64_t i = 0; i < imatrix.shape.n_sums(); ++i)
    imatrix.sums.push_back(static_cast<double>(i % 5));
  const auto problem = [&](QuantizeOptions options) {
    options.imatrix = &imatrix;
    const auto plan = plan_quantize(source.model(), options);
    return plan ? std::string() : plan.error().message;
  };
  CHECK(problem({.type = Encoding::q4_0}).empty());
  CHECK(problem({.type = Encoding::q8_0}) == "type is q8_0: an importance matrix weighs Q4_0 matrices only");
  CHECK(problem({.type = Encoding::q4_0, .q4_rule = Q4Rule::round}) ==
        "rule is round: its scale is the largest element / -8, which an importance matrix cannot change");
  const auto plan =
      plan_quantize(source.model(), {.type = Encoding::q4_0, .q8_mask = 8, .imatrix = &imatrix});
  REQUIRE(plan);
  for (const QuantizedTensor& tensor : plan->tensors) {
    // Without a shared classifier the embedding is looked up only.
    const bool wanted = tensor.array.encoding == Encoding::q4_0 && tensor.name != "tok_emb";
    CHECK(tensor.weighted == wanted);
  }
  imatrix.shape.dim = 32;
  CHECK(problem({.type = Encoding::q4_0}) == "dim is 32, but 64 in the model");
}

TEST_CASE("importance of nothing, of one channel, of denormals or of huge values keeps weights sound",
          "[quantize]") {
  const Source source(small_desc());
  const Model model = source.model();
  Imatrix imatrix{.shape = *imatrix_shape(source.desc), .tokens = 1, .classifier_tokens = 1, .sums = {}};
  const auto plain = quantize(model, {.type = Encoding::q4_0});
  REQUIRE(plain);
  // Squares of the errors of a matrix, each column's weighed.
  const auto error_of = [&](const std::string& bytes, const std::vector<float>& importance) {
    const Model again = reopen(bytes);
    double error = 0;
    for (std::uint64_t row = 0; row < 96; ++row) {
      const std::vector<float> wanted = row_of(model, Role::w1, 0, row),
                               got = row_of(again, Role::w1, 0, row);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        REQUIRE(std::isfinite(got[i]));
        error +=
            static_cast<double>(importance.empty() ? 1 : importance[i]) * std::pow(wanted[i] - got[i], 2);
      }
    }
    return error;
  };
  const auto quantize_with = [&](auto sum_at) {
    imatrix.sums.clear();
    for (std::uint64_t i = 0; i < imatrix.shape.n_sums(); ++i) imatrix.sums.push_back(sum_at(i));
    auto written = quantize(model, {.type = Encoding::q4_0, .imatrix = &imatrix});
    REQUIRE(written);
    return written->bytes;
  };
  CHECK(quantize_with([](std::uint64_t) { return 0.0; }) == plain->bytes);
  const std::pair<const char*, std::function<double(std::uint64_t)>> rows[] = {
      {"one channel", [](std::uint64_t i) { return i % 64 == 3 ? 1e30 : 0.0; }},
      {"denormals", [](std::uint64_t i) { return 4.9e-324 * static_cast<double>(1 + i % 9); }},
      {"huge values", [](std::uint64_t i) { return i % 2 == 0 ? 1e76 : 1e70; }},
      {"denormals and huge values", [](std::uint64_t i) { return i % 2 == 0 ? 1e76 : 4.9e-324; }}};
  for (const auto& [name, sum_at] : rows) {
    CAPTURE(name);
    const std::string bytes = quantize_with(sum_at);
    const auto importance = imatrix_importance(imatrix, 0, ImatrixInput::gate_up);
    CHECK(error_of(bytes, importance) <= 1.02 * error_of(plain->bytes, importance));
  }
}

TEST_CASE("linear attention: lb and la are Q8_0 whatever the type, lconv stays float", "[quantize]") {
  ModelDesc desc = small_desc();
  desc.linear = {.k_heads = 2, .v_heads = 4, .k_dim = 8, .v_dim = 8, .conv = 4};
  desc.layers[1].kind = LayerKind::gated_delta;
  desc.shared_classifier = true;
  const Model model = Source(desc).model();
  const auto written = quantize(model, {.type = Encoding::q4_0, .q8_mask = 2});
  REQUIRE(written);
  const Model again = reopen(written->bytes);
  CHECK(again.find(Role::lb, 1)->view.encoding == Encoding::q8_0);
  CHECK(again.find(Role::la, 1)->view.encoding == Encoding::q8_0);
  CHECK(again.find(Role::lqkv, 1)->view.encoding == Encoding::q4_0);
  CHECK(again.find(Role::tok_emb)->view.encoding == Encoding::q8_0);
  CHECK(row_of(again, Role::lconv, 1, 7) == row_of(model, Role::lconv, 1, 7));
}

TEST_CASE("a full disk is an error with the path", "[quantize]") {
  auto out = OutputFile::create("/dev/full", {});
  REQUIRE(out);
  ModelDesc desc = small_desc();
  desc.vocab = 40000;
  const auto report = quantize_model(Source(desc).model(), {.threads = 3}, *out);
  REQUIRE_FALSE(report);
  CHECK(report.error().status == Status::io);
  CHECK(report.error().path == "/dev/full");
  CHECK(report.error().os_errno != 0);
}
