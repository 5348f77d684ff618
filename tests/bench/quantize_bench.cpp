// Speed of quantizing a synthetic F32 model to /dev/null: a table on standard output, then a JSON line.

#include <ml/quantize.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

namespace {

using namespace ml;

constexpr int kRepeats = 5;

// Cheap values of a bell-like shape; the same on every machine.
struct Values {
  std::uint64_t state = 1;
  float next() {
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      sum += static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f;
    }
    return sum * 0.02f;
  }
};

Model make_model() {
  ModelDesc desc;
  desc.dim = 1024;
  desc.n_heads = 16;
  desc.n_kv_heads = 16;
  desc.head_dim = 64;
  desc.hidden_dim = 2816;
  desc.vocab = 8192;
  desc.max_seq = 2048;
  desc.norm_eps = 1e-5f;
  desc.shared_classifier = true;
  desc.rope.rot_dim = 64;
  desc.rope.layout = RopeLayout::rotate_half;
  desc.layers.resize(2);
  std::vector<Tensor> tensors;
  std::vector<Model::Storage> storage;
  Values values;
  const auto add = [&](Role role, std::uint32_t layer) {
    const Shape shape = role_shape(desc, role);
    auto data = std::make_shared<std::vector<float>>(shape.rows * shape.cols);
    for (float& value : *data) value = values.next();
    tensors.push_back(
        {.role = role,
         .layer = layer,
         .name = tensor_name(role, layer),
         .view = {.rows = shape.rows, .cols = shape.cols, .data = std::as_bytes(std::span(*data))}});
    storage.push_back(std::move(data));
  };
  add(Role::tok_emb, kNoLayer);
  for (std::uint32_t layer = 0; layer < desc.n_layers(); ++layer) {
    for (const Role role : layer_roles(desc, desc.layers[layer])) add(role, layer);
  }
  add(Role::final_norm, kNoLayer);
  return *Model::assemble(desc, std::move(tensors), std::move(storage));
}

Imatrix make_imatrix(const Model& model) {
  const ImatrixShape shape = *imatrix_shape(model.desc());
  Imatrix imatrix{.shape = shape, .tokens = 1, .classifier_tokens = 1, .sums = {}};
  for (std::uint64_t i = 0; i < shape.n_sums(); ++i)
    imatrix.sums.push_back(static_cast<double>(1 + i * 37 % 101));
  return imatrix;
}

double median_seconds(const Model& model, const QuantizeOptions& options) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats + 1; ++i) {
    auto out = OutputFile::create("/dev/null", {.force = true});
    const auto report = quantize_model(model, options, *out);
    if (!report) return -1;
    if (i != 0) seconds.push_back(report->seconds);  // the first one warms up
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace

int main() {
  const Model model = make_model();
  const Imatrix imatrix = make_imatrix(model);
  const double megabytes = static_cast<double>(model.n_bytes()) / 1e6;
  struct Case {
    const char* name;
    QuantizeOptions options;
  };
  const std::vector<Case> cases{
      {"q8_0", {.type = Encoding::q8_0}},
      {"q8_0 f16 scales", {.type = Encoding::q8_0, .scales = ScaleType::f16}},
      {"q4_0 search", {.type = Encoding::q4_0}},
      {"q4_0 importance", {.type = Encoding::q4_0, .imatrix = &imatrix}},
      {"q4_0 best", {.type = Encoding::q4_0, .q4_rule = Q4Rule::best, .imatrix = &imatrix}},
      {"q4_0 round", {.type = Encoding::q4_0, .q4_rule = Q4Rule::round}},
  };
  nlohmann::json json;
  fmt::print("{:.0f} MB of F32 input, MB/s (median of {})\n{:<20}{:>12}{:>12}\n", megabytes, kRepeats, "",
             "1 thread", "2 threads");
  for (const Case& row : cases) {
    fmt::print("{:<20}", row.name);
    for (const unsigned threads : {1u, 2u}) {
      QuantizeOptions options = row.options;
      options.threads = threads;
      const double rate = megabytes / median_seconds(model, options);
      json[row.name][fmt::format("threads_{}", threads)] = rate;
      fmt::print("{:>12.0f}", rate);
    }
    fmt::print("\n");
  }
  fmt::print("{}\n", json.dump());
  return 0;
}
