// llama.cpp's importance matrices: what becomes of a real one, what has no place, every defect by its
// message.

#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "formats/imatrix.hpp"
#include "gguf_builder.hpp"
#include "util/bytes.hpp"

#include <ml/inspect.hpp>
#include <ml/model.hpp>

#include <cmath>
#include <limits>

using namespace ml;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Sums {
  std::string name;  // of the weight
  std::uint64_t n_channels = 32;
  float first = 1;  // of the sums, which rise by 1
  std::vector<float> counts = {8};
};

// What llama-imatrix writes of one layer with a width of 32 and an FFN of 40.
std::vector<Sums> one_layer(const std::string& layer = "blk.0.") {
  return {{layer + "attn_q.weight", 32, 1},   {layer + "attn_k.weight", 32, 1},
          {layer + "attn_v.weight", 32, 1},   {layer + "attn_output.weight", 64, 100},
          {layer + "ffn_gate.weight", 32, 3}, {layer + "ffn_up.weight", 32, 3},
          {layer + "ffn_down.weight", 40, 9}};
}

GgufBuilder builder(const std::vector<Sums>& entries) {
  GgufBuilder gguf;
  gguf.add("general.type", "imatrix");
  const auto tensor = [&](const std::string& name, std::vector<std::uint64_t> dims,
                          const std::vector<float>& values) {
    gguf.data.resize((gguf.data.size() + 31) / 32 * 32);
    gguf.tensors.push_back({name, std::move(dims), 0, gguf.data.size()});
    for (const float value : values) gguf.data += GgufBuilder::le(value);
  };
  for (const Sums& entry : entries) {
    std::vector<float> sums;
    for (std::uint64_t i = 0; i < entry.n_channels * entry.counts.size(); ++i)
      sums.push_back(entry.first + static_cast<float>(i));
    std::vector<std::uint64_t> dims{entry.n_channels};
    if (entry.counts.size() > 1) dims.push_back(entry.counts.size());
    tensor(entry.name + ".in_sum2", dims, sums);
    tensor(entry.name + ".counts", {1, entry.counts.size()}, entry.counts);
  }
  return gguf;
}

std::string problem(const std::string& bytes) {
  const auto imatrix = read_imatrix(as_bytes(bytes));
  const auto defects = check_imatrix(as_bytes(bytes));
  CHECK(defects.empty() == static_cast<bool>(imatrix));
  return imatrix ? "" : describe(imatrix.error());
}
std::string problem(const std::vector<Sums>& entries) { return problem(builder(entries).file()); }

// The same with another first entry.
std::string problem_with(const Sums& first) {
  auto entries = one_layer();
  entries[0] = first;
  return problem(entries);
}

}  // namespace

TEST_CASE("a matrix of llama.cpp becomes ours", "[imatrix][gguf]") {
  auto entries = one_layer();
  for (Sums& entry : one_layer("blk.1.")) entries.push_back(entry);
  entries.push_back({"output.weight", 32, 50, {2}});
  const auto imatrix = read_imatrix(as_bytes(builder(entries).file()));
  REQUIRE(imatrix);
  CHECK(imatrix->shape == ImatrixShape{.n_layers = 2, .dim = 32, .hidden_dim = 64, .q_dim = 64});
  CHECK(imatrix->tokens == 8);
  CHECK(imatrix->classifier_tokens == 2);
  CHECK(imatrix->notes.empty());
  for (const std::uint32_t layer : {0u, 1u}) {
    CHECK(imatrix->of(layer, ImatrixInput::qkv)[31] == 32);
    CHECK(imatrix->of(layer, ImatrixInput::o)[63] == 163);
    CHECK(imatrix->of(layer, ImatrixInput::gate_up)[0] == 3);
    CHECK(imatrix->of(layer, ImatrixInput::down)[39] == 48);
    CHECK(imatrix->of(layer, ImatrixInput::down)[40] == 0);  // the .mlb's width
  }
  CHECK(imatrix->of(0, ImatrixInput::classifier)[0] == 50);

  const TempFolder folder;
  auto out = OutputFile::create(folder.file("a.mli"), {});
  REQUIRE(out);
  REQUIRE(write_imatrix(*imatrix, *out));
}

TEST_CASE("a real matrix of llama.cpp fits its model", "[imatrix][gguf]") {
  const std::string path = data_path("imatrix/stories260K.gguf");
  const auto imatrix = open_imatrix(path);
  REQUIRE(imatrix);
  CHECK(imatrix->tokens == 36 * 256);
  CHECK(imatrix->classifier_tokens == 0);
  REQUIRE(imatrix->notes.size() == 1);
  CHECK(imatrix->notes[0] == "llama.cpp's matrix: no sums for 1 input (classifier)");
  CHECK(imatrix->of(0, ImatrixInput::qkv)[0] == 3855.99609375);
  CHECK(imatrix->of(4, ImatrixInput::down)[2] == 1975.979248046875);
  CHECK(imatrix_importance(*imatrix, 0, ImatrixInput::classifier).empty());
  const auto model = Model::open(data_path("models/stories260K"));
  REQUIRE(model);
  CHECK(check_imatrix_fits(*imatrix, model->desc()));

  const auto as_model = Model::open(path);
  REQUIRE_FALSE(as_model);
  CHECK(as_model.error().message == "file is an importance matrix, which is no model");
  const auto report = inspect(path, {.check = true});
  REQUIRE(report);
  CHECK(report->title == "GGUF importance matrix, version 3");
  CHECK(report->note == imatrix->notes[0]);
  CHECK(report->defects.empty());
}

TEST_CASE("sums of fewer tokens keep their mean", "[imatrix][gguf]") {
  auto entries = one_layer();
  entries[3].counts = {2};
  const auto imatrix = read_imatrix(as_bytes(builder(entries).file()));
  REQUIRE(imatrix);
  CHECK(imatrix->tokens == 8);
  CHECK(imatrix->of(0, ImatrixInput::o)[0] == 400);
  CHECK(imatrix->of(0, ImatrixInput::qkv)[0] == 1);
}

TEST_CASE("merging takes both forms", "[imatrix][gguf]") {
  const TempFolder folder;
  folder.write("a.gguf", builder(one_layer()).file());
  const std::string gguf[] = {folder.file("a.gguf")};
  const auto once = merge_imatrices(gguf);
  REQUIRE(once);
  auto out = OutputFile::create(folder.file("a.mli"), {});
  REQUIRE(out);
  REQUIRE(write_imatrix(*once, *out));
  REQUIRE(out->commit());
  const std::string both[] = {folder.file("a.mli"), folder.file("a.gguf")};
  const std::string turned[] = {folder.file("a.gguf"), folder.file("a.mli")};
  const auto sum = merge_imatrices(both);
  REQUIRE(sum);
  CHECK(sum->tokens == 16);
  CHECK(sum->of(0, ImatrixInput::o)[1] == 202);
  REQUIRE(sum->notes.size() == 1);
  CHECK(sum->notes[0] == folder.file("a.gguf") + ": llama.cpp's matrix: no sums for 1 input (classifier)");
  const auto other = merge_imatrices(turned);
  REQUIRE(other);
  CHECK(other->sums == sum->sums);

  auto wide = one_layer();
  wide[3].n_channels = 96;
  folder.write("wide.gguf", builder(wide).file());
  const std::string mixed[] = {folder.file("a.mli"), folder.file("wide.gguf")};
  const auto refused = merge_imatrices(mixed);
  REQUIRE_FALSE(refused);
  CHECK(describe(refused.error()) ==
        folder.file("wide.gguf") + ": q_dim is 96, but 64 in " + folder.file("a.mli") + " (ML_E_SHAPE)");
}

TEST_CASE("what has no place is said in one note", "[imatrix][gguf]") {
  auto entries = one_layer();
  entries.push_back({"blk.0.ffn_gate_exps.weight", 32, 1, {4, 4}});
  entries.push_back({"blk.0.ssm_out.weight"});
  entries.push_back({"blk.1.attn_q.weight", 32, 1, {0}});
  GgufBuilder gguf = builder(entries);
  for (std::size_t i = gguf.tensors[gguf.tensors.size() - 2].offset, end = i + 128; i < end; ++i)
    gguf.data[i] = '\0';  // no tokens, no sums
  gguf.data.resize((gguf.data.size() + 31) / 32 * 32);
  gguf.tensors.push_back({"extra", {1}, 0, gguf.data.size()});
  gguf.data += std::string(4, '\0');
  const auto imatrix = read_imatrix(as_bytes(gguf.file()));
  REQUIRE(imatrix);
  REQUIRE(imatrix->notes.size() == 1);
  CHECK(
      imatrix->notes[0] ==
      "llama.cpp's matrix: no sums for 5 inputs (layers.1.qkv, layers.1.o, layers.1.gate_up, layers.1.down, "
      "classifier); no place for 3 entries (extra, blk.0.ffn_gate_exps.weight, blk.0.ssm_out.weight)");
}

TEST_CASE("defects of a matrix of llama.cpp", "[imatrix][gguf]") {
  CHECK(problem(one_layer()) == "");
  const std::string q = "blk.0.attn_q.weight";
  const auto at_q = [&](const std::string& message) {
    return message + " (ML_E_FORMAT, tensor " + q + ".in_sum2, offset ";
  };
  const auto starts = [](const std::string& text, const std::string& start) {
    INFO(text);
    return text.substr(0, start.size()) == start;
  };
  CHECK(starts(problem_with({q, 32, kNan}), at_q("sum of channel 0 is NaN, must be finite")));
  CHECK(starts(problem_with({q, 32, kInfinity}), at_q("sum of channel 0 is inf, must be finite")));
  CHECK(starts(problem_with({q, 32, -2}), at_q("sum of channel 0 is -2, must not be negative")));
  CHECK(starts(problem_with({q, 32, 1, {0}}), at_q("sum of channel 0 is 1, more than 0 tokens can give")));
  CHECK(
      starts(problem_with({q, 32, 2}),
             "differs from blk.0.attn_k.weight.in_sum2, whose input is the same (ML_E_FORMAT, tensor " + q));
  CHECK(starts(problem_with({q, 32, 1, {9}}), "differs from blk.0.attn_k.weight.in_sum2"));
  CHECK(starts(problem_with({q, 32, 1, {-1}}), "count 0 is -1, must not be negative"));
  CHECK(starts(problem_with({q, 32, 1, {1.5f}}), "count 0 is 1.5, must be a whole number up to 2^62"));
  CHECK(starts(problem_with({q, 32, 1, {1e30f}}), "count 0 is 1e+30, must be a whole number up to 2^62"));
  CHECK(starts(problem_with({q, 32, 1, {kNan}}), "count 0 is NaN, must be finite"));

  auto entries = one_layer();
  for (const int i : {0, 1, 2}) entries[i].n_channels = 48;
  CHECK(starts(problem(entries),
               "32 channels, but 48 in blk.0.attn_k.weight.in_sum2 (ML_E_SHAPE, tensor blk.0.ffn_gate"));
  entries = one_layer();
  entries[3].n_channels = 40;
  CHECK(problem(entries) == "q_dim is 40, must be a multiple of 32 (ML_E_SHAPE)");
  entries = one_layer();
  entries.pop_back();
  CHECK(problem(entries) == "no sums of blk.N.ffn_down.weight in any layer (ML_E_FORMAT)");
  CHECK(problem(std::vector<Sums>{}) == "no sums of blk.N.attn_q.weight in any layer (ML_E_FORMAT)");
  entries = one_layer();
  entries.push_back({"blk.60000.attn_q.weight"});
  CHECK(starts(problem(entries), "200 sums of the 11520224 that 60001 layers need (ML_E_FORMAT)"));
  entries.back().name = "blk.70000.attn_q.weight";
  CHECK(problem(entries) == "n_layers is 70001, must be 1 to 65536 (ML_E_SHAPE)");

  GgufBuilder gguf = builder(one_layer());
  gguf.tensors.erase(gguf.tensors.begin());
  CHECK(starts(problem(gguf.file()), q + ".in_sum2 is missing (ML_E_FORMAT, tensor " + q + ".counts"));
  gguf = builder(one_layer());
  gguf.tensors.erase(gguf.tensors.begin() + 1);
  CHECK(starts(problem(gguf.file()), q + ".counts is missing (ML_E_FORMAT, tensor " + q + ".in_sum2"));
  gguf = builder(one_layer());
  gguf.tensors[0].type = 1;
  CHECK(starts(problem(gguf.file()), at_q("type is F16, must be F32")));
  gguf = builder(one_layer());
  gguf.tensors[0].dims = {16, 2};
  CHECK(
      starts(problem(gguf.file()), "1 counts, but sums of 2 matrices (ML_E_SHAPE, tensor " + q + ".counts"));
  gguf = builder(one_layer());
  gguf.entries.clear();
  CHECK(problem(gguf.file()) ==
        "file is no importance matrix: general.type is missing, must be \"imatrix\" (ML_E_FORMAT)");
  gguf.add("general.type", "model");
  CHECK(starts(
      problem(gguf.file()),
      "file is no importance matrix: general.type is \"model\", must be \"imatrix\" (ML_E_FORMAT, offset "));

  const std::string bytes = builder(one_layer()).file();
  for (std::size_t n = 4; n < bytes.size(); n += 7) CHECK_FALSE(problem(bytes.substr(0, n)).empty());
}

TEST_CASE("the older form of llama.cpp is named", "[imatrix][gguf]") {
  const std::string dat = GgufBuilder::le<std::uint32_t>(35) + GgufBuilder::le<std::uint32_t>(19) +
                          "blk.0.attn_k.weight" + std::string(100, '\1');
  CHECK(problem(dat) ==
        "file looks like llama.cpp's older .dat form: llama-imatrix --in-file makes it GGUF (ML_E_FORMAT, "
        "offset 0)");
}
