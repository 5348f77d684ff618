#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "formats/gguf_builder.hpp"
#include "formats/mlb_builder.hpp"
#include "formats/registry.hpp"
#include "util/bytes.hpp"

#include <ml/hash.hpp>
#include <ml/inspect.hpp>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

using namespace ml;

namespace {

const InfoField* find_field(const FileReport& report, std::string_view name) {
  const auto found = std::find_if(report.fields.begin(), report.fields.end(),
                                  [&](const auto& field) { return field.name == name; });
  return found == report.fields.end() ? nullptr : &*found;
}

std::string message_of(const TempFolder& folder, std::string_view bytes) {
  folder.write("file", bytes);
  const auto model = Model::open(folder.file("file"));
  REQUIRE_FALSE(model);
  CHECK(model.error().path == folder.file("file"));
  Error error = model.error();
  error.path.clear();
  return describe(error);
}

}  // namespace

TEST_CASE("a format is found by its content", "[formats]") {
  const std::pair<std::string, std::string> table[] = {
      {"MLB1", "mlb"},           {"MLT1", "mlt"},
      {"MLI1", "mli1"},          {std::string("MOG\0", 4), "mog"},
      {"GGUF", "gguf"},          {std::string("\x02\0\0\0\0\0\0\0{}", 10), "safetensors"},
      {" \n{\"a\": 1}", "json"}, {"MLL1", "mll1"},
      {"MLS1", "mls1"},
  };
  CHECK(std::size(table) == formats().size());
  for (const auto& [bytes, name] : table) {
    const auto format = sniff_format(as_bytes(bytes));
    REQUIRE(format);
    CHECK((*format)->name == name);
  }
}

TEST_CASE("what does not run says what it is", "[formats]") {
  const TempFolder folder;
  CHECK(message_of(folder, "") == "file is empty (ML_E_FORMAT, offset 0)");
  CHECK(message_of(folder, "M") == "file holds only 4d (M), as no known format does (ML_E_FORMAT, offset 0)");
  CHECK(
      message_of(folder, "\x89PNG\r\n\x1a\n...") ==
      "file starts with 89 50 4e 47 0d 0a 1a 0a (.PNG....), as no known format does (ML_E_FORMAT, offset 0)");
  CHECK(message_of(folder, "MLT1") == "file is a .mlt tokenizer, which is no model (ML_E_FORMAT)");
  CHECK(message_of(folder, "MLL1") == "file is an MLL1 logit file, which is no model (ML_E_FORMAT)");
  CHECK(message_of(folder, "MLS1") == "file is an MLS1 session of ml-run, which is no model (ML_E_FORMAT)");
  CHECK(message_of(folder, "MLI1") == "file is an MLI1 importance matrix, which is no model (ML_E_FORMAT)");
  CHECK(message_of(folder, "GGUF") == "file is 4 bytes, the header takes 24 (ML_E_FORMAT, offset 0)");
  CHECK(message_of(folder, std::string("MOG\0", 4)) ==
        "file is 4 bytes, the fixed part (preamble and configuration) needs 1088 (ML_E_FORMAT, offset 4)");
  CHECK(message_of(folder, "{}") ==
        "file is a JSON file, which is no model: give the folder that holds its config.json "
        "(ML_E_UNSUPPORTED)");
  CHECK(message_of(folder, TinyCheckpoint().safetensors()) ==
        "file is a bare safetensors file, which says nothing of the model: give the folder that holds it and "
        "its "
        "config.json (ML_E_UNSUPPORTED)");
}

TEST_CASE("a folder, its config.json and a .mlb open as models", "[formats]") {
  const TempFolder folder;
  TinyCheckpoint().write(folder);
  for (const std::string& path : {folder.path(), folder.path() + "/", folder.file("config.json")}) {
    const auto model = Model::open(path);
    REQUIRE(model);
    CHECK(model->desc().dim == 64);
  }
  folder.write("model.mlb", MlbBuilder().build());
  const auto model = Model::open(folder.file("model.mlb"));
  REQUIRE(model);
  CHECK(model->desc().dim == 32);
  const auto missing = Model::open(folder.file("none"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().status == Status::io);
}

TEST_CASE("a report covers a .mlb with every feature", "[formats]") {
  const TempFolder folder;
  folder.write("model.mlb", MlbBuilder::everything().build());
  const auto report = inspect(folder.file("model.mlb"), {.check = true});
  REQUIRE(report);
  CHECK(report->format == "mlb");
  CHECK(report->defects.empty());
  REQUIRE(report->desc);
  CHECK(report->desc->n_layers() == 4);
  REQUIRE(find_field(*report, "rope_attn_factor") != nullptr);
  CHECK(find_field(*report, "rope_attn_factor")->offset == 88);
  CHECK(std::get<float>(find_field(*report, "rope_attn_factor")->value) == 1.1386f);
  CHECK(std::get<std::string>(find_field(*report, "magic")->value) == "MLB1");

  const std::span<const std::byte> bytes = report->files[0].bytes;
  CHECK(report->arrays[0].name == "layer_flags");
  std::uint64_t end = 256;
  for (const InfoArray& array : report->arrays) {
    INFO(array.name);
    CHECK(array.offset == (end + 63) / 64 * 64);
    CHECK(array.data.data() == bytes.data() + array.offset);
    end = array.offset + array.data.size();
    if (array.scales.empty()) continue;
    CHECK(array.scale_type == ScaleType::f16);
    CHECK(array.scale_offset == (end + 63) / 64 * 64);
    end = array.scale_offset + array.scales.size();
  }
  CHECK((end + 63) / 64 * 64 >= bytes.size());
}

TEST_CASE("a check collects what opening would stop at", "[formats]") {
  const TempFolder folder;
  TinyCheckpoint checkpoint;
  checkpoint.add("model.layers.1.mlp.up_proj.weight", {96, 64}, std::numeric_limits<float>::infinity());
  checkpoint.add("model.norm.weight", {64}, std::nanf(""));
  checkpoint.write(folder);
  CHECK(inspect(folder.path()));
  const auto weights = inspect(folder.path(), {.check = true});
  REQUIRE(weights);
  REQUIRE(weights->defects.size() == 2);
  CHECK(describe(weights->defects[0]) ==
        folder.path() +
            ": row 0, column 0 is not finite (ML_E_FORMAT, tensor model.layers.1.mlp.up_proj.weight)");

  folder.write("config.json", "{\"hidden_size\": 64,");
  folder.write("model.safetensors", "");
  CHECK_FALSE(inspect(folder.path()));
  const auto files = inspect(folder.path(), {.check = true});
  REQUIRE(files);
  CHECK(files->defects.size() == 2);
}

TEST_CASE("a check reads the weights of files that are no model, too", "[formats]") {
  const TempFolder folder;
  const auto defects_of = [](const std::string& path) {
    const auto report = inspect(path, {.check = true});
    REQUIRE(report);
    return report->defects;
  };
  const auto named = [](const std::vector<Error>& defects, std::string_view tensor) {
    return std::count_if(defects.begin(), defects.end(), [&](const Error& defect) {
      return defect.tensor == tensor && defect.message.ends_with("row 0, column 0 is not finite");
    });
  };
  const std::string kBad = "model.layers.0.self_attn.o_proj.weight";

  // Each type of weights, in a file alone.
  const std::pair<const char*, const char*> kinds[] = {
      {"F32", "\x01\0\x80\x7f"}, {"F16", "\0\x7c"}, {"BF16", "\x80\xff"}};
  for (const auto& [dtype, nan] : kinds) {
    INFO(dtype);
    const std::size_t size = find_safetensors_dtype(dtype)->bits / 8;
    std::string data(6 * size, '\0');
    data.replace(4 * size, size, nan, size);
    const SafetensorsSource source{"bad", dtype, {2, 3}, as_bytes(data)};
    const auto file = write_safetensors(std::span(&source, 1));
    REQUIRE(file);
    folder.write("alone.safetensors", as_text(*file));
    CHECK(inspect(folder.file("alone.safetensors")));
    const auto defects = defects_of(folder.file("alone.safetensors"));
    REQUIRE(defects.size() == 1);
    CHECK(describe(defects[0]) ==
          folder.file("alone.safetensors") + ": row 1, column 1 is not finite (ML_E_FORMAT, tensor bad)");
  }

  // Beside a tensor that its header describes wrongly.
  TinyCheckpoint checkpoint;
  checkpoint.add(kBad, {64, 64}, std::nanf(""));
  std::string bytes = checkpoint.safetensors();
  bytes.replace(bytes.find("\"F32\""), 5, "\"F99\"");
  folder.write("alone.safetensors", bytes);
  auto defects = defects_of(folder.file("alone.safetensors"));
  CHECK(defects.size() == 2);
  CHECK(named(defects, kBad) == 1);
  std::filesystem::remove(folder.file("alone.safetensors"));

  // In a folder that is of no known family, that has no config, or that lacks a tensor.
  checkpoint.write(folder);
  folder.write("config.json", "{\"model_type\": \"mamba\"}");
  defects = defects_of(folder.path());
  CHECK(defects.size() == 1);
  CHECK(named(defects, kBad) == 1);
  folder.write("config.json", "{");
  defects = defects_of(folder.path());
  CHECK(defects.size() == 2);
  CHECK(named(defects, kBad) == 1);
  checkpoint.tensors.erase("model.norm.weight");
  checkpoint.write(folder);
  defects = defects_of(folder.path());
  CHECK(defects.size() == 2);
  CHECK(named(defects, kBad) == 1);

  // Parts that belong to no tensor, each of them.
  std::vector<SafetensorsSource> parts;
  const std::vector<std::byte> zeros(64);
  for (const char* name : {"a.seeds", "b.seeds", "c.scales"})
    parts.push_back({name, "U16", {2, 16}, std::span(zeros)});
  folder.write("parts.safetensors", as_text(*write_safetensors(parts)));
  CHECK(defects_of(folder.file("parts.safetensors")).size() == 3);

  // Very many of them.
  TinyCheckpoint many;
  for (int i = 0; i < 1200; ++i) many.add(fmt::format("t{}", i), {1}, std::nanf(""));
  folder.write("many.safetensors", many.safetensors());
  defects = defects_of(folder.file("many.safetensors"));
  REQUIRE(defects.size() == 1001);
  CHECK(defects.back().message == "200 more defects");
}

TEST_CASE("a check tells how far it is", "[formats]") {
  const TempFolder folder;
  folder.write("model.mlb", MlbBuilder::everything().build());
  TinyCheckpoint().write(folder);
  for (const std::string& path : {folder.file("model.mlb"), folder.path()}) {
    INFO(path);
    std::vector<std::uint64_t> steps;
    std::uint64_t all = 0;
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
      steps.push_back(done);
      all = total;
    };
    CHECK(inspect(path, {.progress = progress}));
    CHECK(steps.empty());
    CHECK(inspect(path, {.check = true, .progress = progress}));
    REQUIRE(steps.size() > 1);
    CHECK(std::is_sorted(steps.begin(), steps.end()));
    CHECK(steps.back() == all);
  }
}

TEST_CASE("a logit file without rows is sound, whatever vocabulary it claims", "[formats]") {
  const TempFolder folder;
  constexpr std::uint64_t kVocab = 0xffffffff;
  std::byte header[48] = {};
  std::memcpy(header, "MLL1", 4);
  store_le<std::uint32_t>(header + 4, 1);
  store_le<std::uint32_t>(header + 8, kVocab);
  for (const std::uint32_t bits : {16, 32}) {
    store_le<std::uint32_t>(header + 12, bits);
    store_le<std::uint32_t>(header + 16, 1);
    store_le<std::uint32_t>(header + 20, 1);
    store_le<std::uint64_t>(header + 40, XXH3_64bits(header, 40));
    folder.write("rowless", as_text(header));
    const auto report = inspect(folder.file("rowless"), {.check = true});
    REQUIRE(report);
    CHECK(report->defects.empty());
    REQUIRE(find_field(*report, "vocab"));
    CHECK(std::get<std::uint64_t>(find_field(*report, "vocab")->value) == kVocab);
    CHECK_FALSE(find_field(*report, "perplexity"));
  }
}

TEST_CASE("of very many broken rows of a logit file the first are named", "[formats]") {
  const TempFolder folder;
  constexpr std::size_t kRows = 1200, kRowBytes = 72;  // of zeros, which their checks are not
  std::string file(48 + kRows * kRowBytes, '\0');
  file.replace(0, 4, "MLL1");
  store_le<std::uint32_t>(file.data() + 4, 1);
  store_le<std::uint32_t>(file.data() + 8, 8);
  store_le<std::uint32_t>(file.data() + 12, 16);
  store_le<std::uint32_t>(file.data() + 16, 1);
  store_le<std::uint32_t>(file.data() + 20, 1);
  store_le<std::uint64_t>(file.data() + 24, kRows);
  store_le<std::uint64_t>(file.data() + 40, XXH3_64bits(file.data(), 40));
  folder.write("rows", file);
  const auto report = inspect(folder.file("rows"), {.check = true});
  REQUIRE(report);
  REQUIRE(report->defects.size() == 1001);
  CHECK(report->defects[999].message == "checksum of row 999 does not match");
  CHECK(report->defects[1000].message == "200 more defects");
}

TEST_CASE("a model that no family reads is no broken file", "[formats]") {
  const TempFolder folder;
  TinyCheckpoint checkpoint;
  checkpoint.config["model_type"] = "mamba";
  checkpoint.write(folder);
  const auto report = inspect(folder.path(), {.check = true});
  REQUIRE(report);
  CHECK(report->defects.empty());
  CHECK_FALSE(report->desc);
  CHECK(report->note.find("model_type is \"mamba\"") == 0);
  CHECK(report->arrays.size() == checkpoint.tensors.size());
}

TEST_CASE("numbers of a config.json and of a .gguf are reported as they are", "[formats]") {
  const TempFolder folder;
  TinyCheckpoint tiny;
  tiny.config["large"] = 123456789.123;
  tiny.config["huge"] = 1e300;
  tiny.config["negative"] = std::numeric_limits<std::int64_t>::min() + 1;
  const std::string most(99, 'x');  // of a long name, without half a character
  tiny.config[most + "\u00e9"] = {{"within", true}};
  tiny.write(folder);
  const auto checkpoint = inspect(folder.path());
  REQUIRE(checkpoint);
  CHECK(std::get<bool>(find_field(*checkpoint, most + ".within")->value));
  CHECK(std::get<double>(find_field(*checkpoint, "large")->value) == 123456789.123);
  CHECK(std::get<double>(find_field(*checkpoint, "huge")->value) == 1e300);
  CHECK(std::get<std::int64_t>(find_field(*checkpoint, "negative")->value) == -INT64_MAX);

  GgufBuilder builder;
  builder.entries.emplace_back("double", GgufBuilder::type(GgufType::f64) + GgufBuilder::le(1e300));
  builder.entries.emplace_back("negative",
                               GgufBuilder::type(GgufType::i64) + GgufBuilder::le<std::int64_t>(-INT64_MAX));
  builder.entries.emplace_back("small", GgufBuilder::type(GgufType::i8) + GgufBuilder::le<std::int8_t>(-3));
  folder.write("x.gguf", builder.file());
  const auto gguf = inspect(folder.file("x.gguf"));
  REQUIRE(gguf);
  CHECK(std::get<double>(find_field(*gguf, "double")->value) == 1e300);
  CHECK(std::get<std::int64_t>(find_field(*gguf, "negative")->value) == -INT64_MAX);
  CHECK(std::get<std::int64_t>(find_field(*gguf, "small")->value) == -3);
}

TEST_CASE("of many files that are missing a few are named", "[formats]") {
  const TempFolder folder;
  GgufBuilder builder;
  for (const auto& [key, value] : {std::pair("split.no", 0u), std::pair("split.count", 99999u)})
    builder.add(key, std::uint32_t{value});
  folder.write("x-00001-of-99999.gguf", builder.file());
  const auto gguf = inspect(folder.file("x-00001-of-99999.gguf"), {.check = true});
  REQUIRE(gguf);
  REQUIRE(gguf->defects.size() == 6);
  CHECK(gguf->defects[4].path == folder.file("x-00006-of-99999.gguf"));
  CHECK(gguf->defects[5].message == "99993 more files cannot be opened");

  TinyCheckpoint().write(folder);
  nlohmann::json index = {{"weight_map", nlohmann::json::object()}};
  for (int i = 0; i < 7; ++i) index["weight_map"][fmt::format("t{}", i)] = fmt::format("{}.safetensors", i);
  folder.write("model.safetensors.index.json", index.dump());
  const auto checkpoint = inspect(folder.path(), {.check = true});
  REQUIRE(checkpoint);
  const auto n_missing = std::count_if(checkpoint->defects.begin(), checkpoint->defects.end(),
                                       [](const Error& defect) { return defect.message == "cannot open"; });
  CHECK(n_missing == 5);
  CHECK(std::any_of(checkpoint->defects.begin(), checkpoint->defects.end(),
                    [](const Error& defect) { return defect.message == "2 more files cannot be opened"; }));
}

TEST_CASE("safetensors of any shape are reported", "[formats]") {
  const TempFolder folder;
  const std::vector<std::byte> data(48);
  const std::span<const std::byte> bytes(data);
  const std::vector<SafetensorsSource> sources{{"blocks.7.cube", "F16", {2, 3, 4}, bytes},
                                               {"empty", "F32", {0, 5}, bytes.first(0)},
                                               {"scalar", "F32", {}, bytes.first(4)},
                                               {"x.12", "I64", {1}, bytes.first(8)}};
  const auto file = write_safetensors(sources);
  REQUIRE(file);
  folder.write("any.safetensors", as_text(*file));
  const auto report = inspect(folder.file("any.safetensors"), {.check = true});
  REQUIRE(report);
  REQUIRE(report->arrays.size() == 4);
  CHECK(report->arrays[0].layer == 7);
  CHECK(report->arrays[0].view->rows == 6);
  CHECK(report->arrays[0].view->cols == 4);
  CHECK_FALSE(report->arrays[1].view);
  CHECK(report->arrays[2].view->n_weights() == 1);
  CHECK(report->arrays[3].layer == 12);
  CHECK(report->arrays[3].encoding == "i64");
  CHECK_FALSE(report->arrays[3].view);
}

TEST_CASE("statistics are exact and do not depend on threads", "[model]") {
  // 3000 x 300 values, several pieces; element i is i mod 21 - 10, so that all is known.
  constexpr std::uint64_t kRows = 3000;
  constexpr std::uint64_t kCols = 300;
  std::vector<float> values(kRows * kCols);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i % 21) - 10);
  values[77] = std::nanf("");
  values[78] = -std::numeric_limits<float>::infinity();
  const LittleEndian bytes{std::span(values)};
  const TensorView view{.rows = kRows, .cols = kCols, .data = bytes.bytes()};
  const TensorStats stats = tensor_stats(view, 1);
  double sum = 0;
  double squares = 0;
  std::uint64_t zeros = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == 77 || i == 78) continue;
    sum += static_cast<double>(values[i]);
    squares += static_cast<double>(values[i] * values[i]);
    zeros += values[i] == 0 ? 1 : 0;
  }
  const auto n = static_cast<double>(values.size() - 2);
  CHECK(stats.n == values.size());
  CHECK(stats.n_non_finite == 2);
  CHECK(stats.n_zero == zeros);
  CHECK(stats.min == -10);
  CHECK(stats.max == 10);
  CHECK(stats.mean == sum / n);  // integers: the sums are exact
  CHECK(stats.rms == std::sqrt(squares / n));
  std::uint64_t counted = 0;
  for (const std::uint64_t bin : stats.histogram) counted += bin;
  CHECK(counted == values.size() - 2);
  CHECK(stats.histogram[19] > stats.histogram[18]);  // 9 and 10 share the last bin
  for (const unsigned threads : {2u, 3u, 7u}) {
    const TensorStats again = tensor_stats(view, threads);
    CHECK(again.mean == stats.mean);
    CHECK(again.rms == stats.rms);
    CHECK(again.histogram == stats.histogram);
  }
  CHECK(find_non_finite(view) == std::array<std::uint64_t, 2>{0, 77});
}

TEST_CASE("statistics of odd tensors", "[model]") {
  const std::vector<float> same(5, 2.5f);
  const LittleEndian same_bytes{std::span(same)};
  const TensorStats constant = tensor_stats({.rows = 1, .cols = 5, .data = same_bytes.bytes()});
  CHECK(constant.min == 2.5f);
  CHECK(constant.max == 2.5f);
  CHECK(constant.histogram[0] == 5);
  const std::vector<float> nan(3, std::nanf(""));
  const TensorStats none = tensor_stats({.rows = 1, .cols = 3, .data = LittleEndian(std::span(nan)).bytes()});
  CHECK(none.n_non_finite == 3);
  CHECK(none.rms == 0);
  CHECK(tensor_stats({}).n == 0);
  const float ends[] = {-std::numeric_limits<float>::max(), std::numeric_limits<float>::max(), 1e-45f};
  const TensorStats wide =
      tensor_stats({.rows = 1, .cols = 3, .data = LittleEndian(std::span(ends)).bytes()});
  CHECK(wide.histogram[0] == 1);
  CHECK(wide.histogram[kHistogramBins - 1] == 1);
  CHECK(rms_difference({.rows = 1, .cols = 5, .data = same_bytes.bytes()},
                       {.rows = 1, .cols = 5, .data = same_bytes.bytes()}) == 0);
}
