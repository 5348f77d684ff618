// NanoSeedLM folders: the writer against the reference's own folder, the reader against damage.

#include "catch.hpp"
#include "data.hpp"
#include "documented_rules.hpp"
#include "encodings/seed.hpp"
#include "folder.hpp"
#include "formats/nanoseed_layout.hpp"
#include "formats/shards.hpp"
#include "models.hpp"
#include "util/bytes.hpp"
#include "util/glob.hpp"

#include <ml/inspect.hpp>
#include <ml/seed_pack.hpp>

#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

using namespace ml;

namespace {

using nlohmann::json;

// spec.json says BF16, Q8, Q4 for what the registry calls otherwise.
Encoding encoding_of(const std::string& name) {
  return name == "BF16" ? Encoding::bf16 : *find_pack_encoding(name);
}

// One tensor's entries by hand.
struct Parts {
  std::map<std::string, SafetensorsSource> entries;
  std::deque<std::vector<std::byte>> data;

  void add(const std::string& name, const std::string& dtype, std::vector<std::uint64_t> shape,
           unsigned fill = 0) {
    std::uint64_t n = find_safetensors_dtype(dtype)->bits / 8;
    for (const std::uint64_t dim : shape) n *= dim;
    data.emplace_back(n, static_cast<std::byte>(fill));
    entries[name] = {name, dtype, std::move(shape), data.back()};
  }
  std::string write(const TempFolder& folder) const {
    std::vector<SafetensorsSource> sources;
    for (const auto& [name, entry] : entries) sources.push_back(entry);
    const auto bytes = write_safetensors(sources);
    REQUIRE(bytes);
    folder.write("x.safetensors", as_text(*bytes));
    return folder.file("x.safetensors");
  }
};

Parts p4_parts() {
  Parts parts;
  parts.add("a.seeds", "U16", {2, 4, 4}, 1);
  parts.add("a.coefs", "U16", {2, 4, 4}, 3);
  parts.add("a.codes", "U8", {2, 4, 2}, 1);
  parts.add("a.exp_bias", "I32", {2}, 0);
  return parts;
}

Parts affine_parts() {
  Parts parts;
  parts.add("a.weight", "U32", {4, 16}, 1);
  parts.add("a.scales", "BF16", {4, 2}, 1);
  parts.add("a.biases", "BF16", {4, 2}, 1);
  return parts;
}

Result<FileReport> inspected(const Parts& parts) {
  TempFolder folder;
  return inspect(parts.write(folder));
}

// Parts with one of the defects of nanoseedlm(5), VALIDATION.
void check_refused(DocumentedRules& rules, const char* defect, Parts parts,
                   const std::function<void(Parts&)>& damage, const std::string& message) {
  damage(parts);
  const auto report = inspected(parts);
  REQUIRE_FALSE(report);
  CHECK(report.error().message == message);
  rules.met(defect, describe(report.error()));
}

PackReport pack(const std::string& from, const std::string& to, SeedPackOptions options) {
  options.threads = 2;
  auto report = pack_model(from, to, options);
  if (!report) FAIL(describe(report.error()));
  return *std::move(report);
}

}  // namespace

TEST_CASE("the reference's folder, byte for byte", "[seedlm]") {
  const std::string folder = data_path("seedlm/mini_folder");
  const json spec = json::parse(read_file(folder + "/spec.json"));
  std::vector<LayoutTensor> tensors;
  for (const json& row : spec["tensors"]) {
    LayoutTensor tensor{.name = row["name"], .encoding = encoding_of(row["enc"])};
    if (row["slices"] != 1) tensor.shape.push_back(row["slices"]);
    if (tensor.encoding != Encoding::bf16 || row["rows"] != 1 || row["slices"] != 1)
      tensor.shape.push_back(row["rows"]);
    tensor.shape.push_back(row["cols"]);
    if (tensor.encoding == Encoding::bf16) tensor.dtype = "BF16";
    tensors.push_back(std::move(tensor));
  }
  std::vector<std::pair<std::string, std::string>> metadata;
  for (const json& pair : spec["meta"]) metadata.emplace_back(pair[0], pair[1]);
  const auto layout = lay_out(tensors, spec["shard_bytes"], "", metadata);
  REQUIRE(layout);
  CHECK(layout->index == read_file(folder + "/model.safetensors.index.json"));
  const auto shards = open_shards(folder);
  REQUIRE(shards);
  REQUIRE(layout->shards.size() == shards->size());
  for (std::size_t i = 0; i < shards->size(); ++i) {
    const LayoutShard& planned = layout->shards[i];
    const std::span<const std::byte> bytes = (*shards)[i].input->data();
    CHECK(path_in_folder(folder, planned.name) == (*shards)[i].path);
    REQUIRE(planned.n_bytes == bytes.size());
    CHECK(planned.header == as_text(bytes.first(planned.header.size())));
    for (const LayoutEntry& entry : planned.entries) {
      const auto& found = (*shards)[i].file.tensors;
      const auto there =
          std::find_if(found.begin(), found.end(), [&](const auto& t) { return t.name == entry.name; });
      REQUIRE(there != found.end());
      CHECK(there->offset == entry.offset);
      CHECK(there->data.size() == entry.n_bytes);
    }
  }
}

TEST_CASE("a folder packs into itself: copied tensors, the same shards", "[seedlm]") {
  TempFolder folder;
  // Every tensor stays in its encoding; only metadata and the order of tensors are the reference's own.
  SeedPackOptions options{.encoding = Encoding::bf16, .shard_bytes = 100000};
  options.rules = {{"*embed_tokens*", Encoding::q8g64}, {"lm_head*", Encoding::q8g64},
                   {"*gate_proj*", Encoding::seed4p4},  {"*down_proj*", Encoding::seed4},
                   {"*v_experts*", Encoding::q4g64},    {"*q_proj*", Encoding::seed4p4},
                   {"*kv_a_x", Encoding::q8g64},        {"*q_lat", Encoding::q4g64},
                   {"*k_rope_proj*", Encoding::seed4p4}};
  const PackReport report = pack(data_path("seedlm/mini_folder"), folder.file("out"), options);
  for (const PackedTensor& tensor : report.tensors) CHECK(tensor.copied);
  const auto before = open_shards(data_path("seedlm/mini_folder"));
  const auto after = open_shards(folder.file("out"));
  REQUIRE(before);
  REQUIRE(after);
  std::map<std::string, std::string> bytes;
  for (const Shard& shard : *before) {
    for (const SafetensorsTensor& tensor : shard.file.tensors) bytes[tensor.name] = as_text(tensor.data);
  }
  std::size_t n = 0;
  for (const Shard& shard : *after) {
    for (const SafetensorsTensor& tensor : shard.file.tensors) {
      CHECK(bytes.at(tensor.name) == as_text(tensor.data));
      ++n;
    }
  }
  CHECK(n == bytes.size());
}

TEST_CASE("packed models open as their families do, with the decoded weights", "[seedlm]") {
  TempFolder folder;
  TinyCheckpoint checkpoint;
  checkpoint.write(folder);
  for (const Encoding encoding : pack_encodings()) {
    const std::string name(encoding_info(encoding).name);
    INFO(name);
    const PackReport report = pack(folder.path(), folder.file(name), {.encoding = encoding});
    const Model model = open_model(folder.file(name));
    CHECK(model.find(Role::wq, 1)->view.encoding == encoding);
    CHECK(model.find(Role::attn_norm, 0)->view.encoding == Encoding::bf16);
    std::vector<float> row(64);
    decode_row(model.find(Role::wq, 1)->view, 3, row);
    for (const float value : row) CHECK(std::fabs(value - 0.5f) < 0.02f);
    // The way back gives exactly what the encoding stands for, and so does a .mlb.
    pack(folder.file(name), folder.file(name + "-back"), {.encoding = Encoding::bf16});
    const Model back = open_model(folder.file(name + "-back"));
    for (const Tensor& tensor : model.tensors()) {
      const TensorView& view = back.find(tensor.role, tensor.layer)->view;
      CHECK(view.encoding == Encoding::bf16);
      CHECK(rms_difference(view, tensor.view) == 0);
    }
    quantize_to(folder.file(name + ".mlb"), model, {.type = Encoding::q8_0});
  }
}

TEST_CASE("columns that do not fit stay BF16 and the report says why", "[seedlm]") {
  TempFolder folder;
  TinyCheckpoint().write(folder);  // down_proj has 96 columns
  const auto plan = plan_pack(folder.path(), folder.file("out"), {.encoding = Encoding::q8g64});
  REQUIRE(plan);
  std::size_t n = 0;
  for (const PackedTensor& tensor : plan->tensors) {
    if (tensor.kept.empty()) continue;
    CHECK(tensor.kept == "96 columns, q8g64 needs a multiple of 64");
    CHECK(tensor.encoding == "bf16");
    ++n;
  }
  CHECK(n == 2);
}

TEST_CASE("one row of BF16 is written as [C]", "[seedlm]") {
  TempFolder folder;
  using Shapes = std::map<std::string, std::vector<std::uint64_t>>;
  const Shapes shapes{{"a.weight", {1, 64}}, {"b", {1, 1, 8}}, {"c", {2, 8}},
                      {"d", {1, 2, 8}},      {"e", {8}},       {"f", {1, 1, 1, 8}}};
  Parts parts;
  for (const auto& [name, shape] : shapes) parts.add(name, name == "a.weight" ? "F32" : "BF16", shape);
  parts.add("ids", "I64", {1, 8});
  const PackReport report =
      pack(parts.write(folder), folder.file("y.safetensors"), {.encoding = Encoding::bf16});
  const auto written = inspect(folder.file("y.safetensors"));
  REQUIRE(written);
  Shapes found;
  for (const InfoArray& array : written->arrays) found[array.name] = array.shape;
  CHECK(found == Shapes{{"a.weight", {64}},
                        {"b", {8}},
                        {"c", {2, 8}},
                        {"d", {1, 2, 8}},
                        {"e", {8}},
                        {"f", {1, 1, 1, 8}},
                        {"ids", {1, 8}}});
  for (const PackedTensor& tensor : report.tensors) CHECK(tensor.shape == found[tensor.name]);
  // Encoded, a row stays a matrix.
  CHECK(pack(folder.file("x.safetensors"), folder.file("z.safetensors"), {.encoding = Encoding::q8g64})
            .tensors[0]
            .shape == std::vector<std::uint64_t>{1, 64});
}

TEST_CASE("weights that are infinite as BF16 are named by row and column", "[seedlm]") {
  const TempFolder folder;
  TinyCheckpoint tiny;
  tiny.add("model.layers.1.mlp.up_proj.weight", {96, 64}, std::numeric_limits<float>::max());
  tiny.write(folder);
  const auto report =
      pack_model(folder.path(), folder.file("packed"), {.encoding = Encoding::q8g64, .threads = 2});
  REQUIRE_FALSE(report);
  CHECK(report.error().status == Status::format);
  CHECK(report.error().message == "weight of row 0, column 0 is infinite, must be finite in BF16");
}

TEST_CASE("rules: the last match wins, one without a match is an error", "[seedlm]") {
  TempFolder folder;
  TinyCheckpoint().write(folder);
  SeedPackOptions options{.encoding = Encoding::q8g64};
  options.rules = {{"*q_proj*", Encoding::q4g64}, {"*.1.*q_proj*", Encoding::bf16}};
  const auto plan = plan_pack(folder.path(), folder.file("out"), options);
  REQUIRE(plan);
  for (const PackedTensor& tensor : plan->tensors) {
    if (tensor.name == "model.layers.0.self_attn.q_proj.weight") CHECK(tensor.encoding == "q4g64");
    if (tensor.name == "model.layers.1.self_attn.q_proj.weight") CHECK(tensor.encoding == "bf16");
  }
  options.rules.push_back({"nothing", Encoding::bf16});
  CHECK(plan_pack(folder.path(), folder.file("out"), options).error().message ==
        "no tensor's name fits the rule \"nothing\"");
  CHECK(matches_glob("a*b?c*", "axxbbyc"));
  CHECK_FALSE(matches_glob("a*b?c", "abc"));
  CHECK(matches_glob("*", ""));
  CHECK_FALSE(matches_glob("", "a"));
}

TEST_CASE("a searched tensor is taken from the work folder", "[seedlm]") {
  TempFolder folder;
  TinyCheckpoint().write(folder);
  const SeedPackOptions options{.encoding = Encoding::seed4, .work = folder.file("work")};
  pack(folder.path(), folder.file("a"), options);
  const auto kept = std::distance(std::filesystem::directory_iterator(folder.file("work")), {});
  CHECK(kept > 0);
  pack(folder.path(), folder.file("b"), options);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.file("work")), {}) == kept);
  CHECK(read_file(folder.file("a/model-00001-of-00001.safetensors")) ==
        read_file(folder.file("b/model-00001-of-00001.safetensors")));
  // A broken file is searched anew.
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("work")))
    std::filesystem::resize_file(entry.path(), 100);
  pack(folder.path(), folder.file("c"), options);
  CHECK(read_file(folder.file("a/model-00001-of-00001.safetensors")) ==
        read_file(folder.file("c/model-00001-of-00001.safetensors")));
}

TEST_CASE("any byte of a work file changed, or files under each other's names: searched anew", "[seedlm]") {
  TempFolder folder;
  TinyCheckpoint().write(folder);
  const SeedPackOptions options{.encoding = Encoding::seed4, .work = folder.file("work")};
  pack(folder.path(), folder.file("a"), options);
  const std::string wanted = read_file(folder.file("a/model-00001-of-00001.safetensors"));
  std::map<std::string, std::string> kept;
  for (const auto& entry : std::filesystem::directory_iterator(options.work))
    kept[entry.path().string()] = read_file(entry.path().string());
  REQUIRE(kept.size() > 1);
  const auto check = [&](const std::string& name) {
    pack(folder.path(), folder.file(name), options);
    CHECK(read_file(folder.file(name + "/model-00001-of-00001.safetensors")) == wanted);
    for (const auto& [path, bytes] : kept) CHECK(read_file(path) == bytes);  // mended
  };
  for (const std::size_t place : {0, 1, 2, 3}) {  // the last byte, and others up to the middle
    for (const auto& [path, bytes] : kept) {
      std::string damaged = bytes;
      damaged[bytes.size() - 1 - place * bytes.size() / 6] ^= 1;
      std::ofstream(path, std::ios::binary) << damaged;
    }
    check(std::to_string(place));
  }
  std::string other = kept.rbegin()->second;
  for (const auto& [path, bytes] : kept) {
    std::ofstream(path, std::ios::binary) << other;
    other = bytes;
  }
  check("c");
}

TEST_CASE("a work folder that is the input, or the output or in it, is refused", "[seedlm]") {
  TempFolder folder;
  TinyCheckpoint().write(folder);
  const auto message = [&](const std::string& work) {
    const auto plan =
        plan_pack(folder.path(), folder.file("out"), {.encoding = Encoding::seed4, .work = work});
    if (plan) return std::string();
    CHECK(plan.error().status == Status::arg);
    return plan.error().message;
  };
  std::filesystem::create_directory_symlink(folder.path(), folder.file("link"));
  CHECK(message(folder.path()) == "work folder and input are the same");
  CHECK(message(folder.file("")) == "work folder and input are the same");
  CHECK(message(folder.file("link")) == "work folder and input are the same");
  CHECK(message(folder.file("out")) == "work folder and output are the same");
  CHECK(message(folder.file("nothing/../out/")) == "work folder and output are the same");
  CHECK(message(folder.file("link/out")) == "work folder and output are the same");
  CHECK(message(folder.file("out/work")) == "work folder is in the output");
  CHECK(message(folder.file("out2")).empty());
  CHECK(message(folder.file("work")).empty());
}

TEST_CASE("damaged entries are refused by name", "[seedlm]") {
  CHECK(inspected(p4_parts()));
  CHECK(inspected(affine_parts()));
  DocumentedRules rules("nanoseedlm");
  const auto without = [](const char* part) { return [=](Parts& p) { p.entries.erase(part); }; };
  const auto with = [](const char* part, const char* dtype, std::vector<std::uint64_t> shape, int fill = 0) {
    return [=](Parts& p) { p.add(part, dtype, shape, fill); };
  };
  const char* const kMissing = "a part is missing";
  for (const char* part : {"a.coefs", "a.exp_bias", "a.codes"})
    check_refused(rules, kMissing, p4_parts(), without(part), std::string(part) + " is missing");
  for (const char* part : {"a.weight", "a.biases"})
    check_refused(rules, kMissing, affine_parts(), without(part), std::string(part) + " is missing");

  const char* const kDtype = "a part has another dtype";
  check_refused(rules, kDtype, p4_parts(), with("a.coefs", "I16", {2, 4, 4}), "dtype is I16, must be U16");
  check_refused(rules, kDtype, p4_parts(), with("a.seeds", "I16", {2, 4, 4}), "dtype is I16, must be U16");
  check_refused(rules, kDtype, p4_parts(), with("a.codes", "U16", {2, 4, 1}), "dtype is U16, must be U8");
  check_refused(rules, kDtype, affine_parts(), with("a.scales", "F16", {4, 2}), "dtype is F16, must be BF16");
  check_refused(rules, kDtype, affine_parts(), with("a.weight", "I32", {4, 16}), "dtype is I32, must be U32");

  const char* const kBytes = "a part does not have the bytes that the shape of .seeds or .scales implies";
  check_refused(rules, kBytes, p4_parts(), with("a.exp_bias", "I32", {1}),
                "holds 4 bytes, a.seeds of shape [2, 4, 4] needs 8");
  check_refused(rules, kBytes, p4_parts(), with("a.codes", "U8", {2, 4, 1}),
                "holds 8 bytes, a.seeds of shape [2, 4, 4] needs 16");
  check_refused(rules, kBytes, affine_parts(), with("a.biases", "BF16", {4, 3}),
                "holds 24 bytes, a.scales of shape [4, 2] needs 16");

  const char* const kShape = "the shape of .seeds has not two or three dimensions above 0";
  check_refused(rules, kShape, p4_parts(), with("a.seeds", "U16", {32}),
                "shape is [32], must have 2 or 3 dimensions");
  check_refused(rules, kShape, p4_parts(), with("a.seeds", "U16", {2, 0, 4}),
                "shape is [2, 0, 4], which is no matrix");
  check_refused(rules, "columns are no multiple of a block", p4_parts(), with("a.seeds", "U16", {2, 4, 3}),
                "24 columns, seed4p4 needs a multiple of 16");
  check_refused(rules, "a row's words for each scale are not 16, 8 or 4", affine_parts(),
                with("a.weight", "U32", {4, 12}),
                "12 words a row for 2 scales, must be 16 (8 bits, groups of 64), 8 (4 bits, groups of 64) or "
                "4 (4 bits, groups of 32) a scale");
  check_refused(rules, "a scale or a bias is not finite", affine_parts(),
                with("a.scales", "BF16", {4, 2}, 0xff), "element 0 is not finite");
  check_refused(
      rules, "a name is longer than 95 bytes", p4_parts(),
      [](Parts& p) {
        p.entries.clear();
        const std::string name(90, 'n');
        p.add(name + ".seeds", "U16", {1, 4, 4});
        p.add(name + ".nibbles", "U16", {1, 4, 4});
        p.add(name + ".exp_bias", "I32", {1});
      },
      "name has 97 bytes, at most 95 are allowed");
  rules.check_all_met();
}

TEST_CASE("parts without the others are passed over, or an error when asked", "[seedlm]") {
  TempFolder folder;
  TinyCheckpoint checkpoint;
  checkpoint.add("model.layers.0.self_attn.q_proj.codes", {4}, 0, "U8");
  checkpoint.write(folder);
  const Model model = open_model(folder.path());
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0].message == "U8 values without .seeds beside them belong to no tensor");
  CHECK(Model::open(folder.path(), {.strict = true}).error().message == model.warnings()[0].message);
}

TEST_CASE("a folder without an index: numbered shards and model-mla-delta", "[seedlm]") {
  TempFolder folder;
  TinyCheckpoint checkpoint;
  folder.write("config.json", checkpoint.config.dump());
  const auto first = [](const std::string& name) { return name < "model.layers.1"; };
  const auto delta = [](const std::string& name) { return name == "model.norm.weight"; };
  folder.write("model-00001-of-00002.safetensors", checkpoint.safetensors(first));
  CHECK_FALSE(Model::open(folder.path()));
  folder.write("model-00002-of-00002.safetensors",
               checkpoint.safetensors([&](const std::string& n) { return !first(n) && !delta(n); }));
  CHECK_FALSE(Model::open(folder.path()));
  folder.write("model-mla-delta.safetensors", checkpoint.safetensors(delta));
  CHECK(Model::open(folder.path()));
  checkpoint.config["mla_ranks"] = {0, 32};
  folder.write("config.json", checkpoint.config.dump());
  CHECK(Model::open(folder.path()).error().status == Status::unsupported);
}
