// MLI1 files: every defect by its message, merging in any order, statistics, importance.

#include "formats/imatrix.hpp"
#include "catch.hpp"
#include "data.hpp"
#include "documented_rules.hpp"
#include "folder.hpp"
#include "patched.hpp"
#include "util/bytes.hpp"
#include "util/order_free_sum.hpp"

#include <ml/inspect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace ml;

namespace {

constexpr ImatrixShape kShape{.n_layers = 2, .dim = 32, .hidden_dim = 64, .q_dim = 96};

Imatrix sample(std::uint64_t seed = 1) {
  Imatrix imatrix{.shape = kShape, .tokens = 10, .classifier_tokens = 3};
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < kShape.n_sums(); ++i) {
    imatrix.sums.push_back(
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 90) - 80));
  }
  return imatrix;
}

std::string file_of(const Imatrix& imatrix) {
  const TempFolder folder;
  auto out = OutputFile::create(folder.file("a.mli"), {});
  REQUIRE(out);
  REQUIRE(write_imatrix(imatrix, *out));
  REQUIRE(out->commit());
  return read_file(folder.file("a.mli"));
}

std::string problem(const std::string& bytes) {
  const auto imatrix = read_imatrix(as_bytes(bytes));
  const auto defects = check_imatrix(as_bytes(bytes));
  if (imatrix) {
    CHECK(defects.empty());
    return "";
  }
  REQUIRE_FALSE(defects.empty());
  CHECK(describe(defects[0]) == describe(imatrix.error()));
  return describe(imatrix.error());
}

}  // namespace

TEST_CASE("an importance matrix is read as it was written", "[imatrix]") {
  const Imatrix imatrix = sample();
  const std::string bytes = file_of(imatrix);
  REQUIRE(bytes.size() == 40 + 8 * (2 * (2 * 32 + 96 + 64) + 32));
  CHECK(bytes.substr(0, 4) == "MLI1");
  CHECK(load_le<std::uint32_t>(bytes.data() + 20) == 96);
  const auto back = read_imatrix(as_bytes(bytes));
  REQUIRE(back);
  CHECK(back->shape == imatrix.shape);
  CHECK(back->tokens == 10);
  CHECK(back->classifier_tokens == 3);
  CHECK(back->sums == imatrix.sums);
  CHECK(back->of(1, ImatrixInput::down).data() == back->sums.data() + 224 + 32 + 96 + 32);
  CHECK(back->of(0, ImatrixInput::classifier).data() == back->sums.data() + 2 * 224);

  Imatrix square = imatrix;
  square.shape.q_dim = 32;
  square.sums.resize(square.shape.n_sums());
  CHECK(load_le<std::uint32_t>(file_of(square).data() + 20) == 0);
}

TEST_CASE("every defect of an MLI1 file has its message", "[imatrix]") {
  const std::string good = file_of(sample());
  const auto sum_at = [](std::uint64_t i) { return 40 + 8 * i; };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    const char* rule;  // of mli(5), VALIDATION
    std::string bytes, message;
  };
  const char* const kShort = "the file is shorter than the header";
  const char* const kRange = "n_layers, dim, hidden_dim or q_dim is out of range";
  const char* const kWidth = "a width is no multiple of 32";
  const char* const kFinite = "a sum is NaN or infinite";
  const char* const kTooLarge =
      "a sum is more than float32 values of its tokens give: over 2^256 times their number";
  const Case table[] = {
      {"the file is empty", "", "file is empty (ML_E_FORMAT, offset 0)"},
      {"the magic is not MLI1", "MLB1" + good.substr(4), "is neither MLI1 nor GGUF (ML_E_FORMAT, offset 0)"},
      {kShort, "ML", "file is 2 bytes, the header needs 40 (ML_E_FORMAT, offset 2)"},
      {kShort, good.substr(0, 39), "file is 39 bytes, the header needs 40 (ML_E_FORMAT, offset 39)"},
      {"the version is not 1", patched(good, 4, 2u), "version is 2, must be 1 (ML_E_FORMAT, offset 4)"},
      {kRange, patched(good, 8, 0u), "n_layers is 0, must be 1 to 65536 (ML_E_SHAPE, offset 8)"},
      {kRange, patched(good, 8, 0xffffffffu),
       "n_layers is 4294967295, must be 1 to 65536 (ML_E_SHAPE, offset 8)"},
      {kRange, patched(good, 12, 0u), "dim is 0, must be 1 to 65536 (ML_E_SHAPE, offset 12)"},
      {kWidth, patched(good, 12, 33u), "dim is 33, must be a multiple of 32 (ML_E_SHAPE, offset 12)"},
      {kRange, patched(good, 16, 65568u), "hidden_dim is 65568, must be 1 to 65536 (ML_E_SHAPE, offset 16)"},
      {kWidth, patched(good, 16, 172u),
       "hidden_dim is 172, must be a multiple of 32 (ML_E_SHAPE, offset 16)"},
      {kRange, patched(good, 20, 1u << 31),
       "q_dim is 2147483648, must be 1 to 65536 (ML_E_SHAPE, offset 20)"},
      {kWidth, patched(good, 20, 40u), "q_dim is 40, must be a multiple of 32 (ML_E_SHAPE, offset 20)"},
      {"q_dim is equal to dim", patched(good, 20, 32u),
       "q_dim is 32, must be 0 where it is dim (ML_E_FORMAT, offset 20)"},
      {"the file is shorter than its sums", good.substr(0, good.size() - 1),
       "file is 3879 bytes, its sums need 3880 (ML_E_FORMAT, offset 3879)"},
      {"the file is shorter than its sums", patched(good, 8, 65536u),
       "file is 3880 bytes, its sums need 117440808 (ML_E_FORMAT, offset 3880)"},
      {"bytes follow the last sum", good + "x", "1 bytes after the last sum (ML_E_FORMAT, offset 3880)"},
      {kFinite, patched(good, sum_at(33), nan),
       "sum of channel 1 is NaN, must be finite (ML_E_FORMAT, tensor layers.0.o, offset 304)"},
      {kFinite, patched(good, sum_at(224 + 128), infinity),
       "sum of channel 0 is inf, must be finite (ML_E_FORMAT, tensor layers.1.gate_up, offset 2856)"},
      {"a sum is negative", patched(good, sum_at(479), -1e-300),
       "sum of channel 31 is -1e-300, must not be negative (ML_E_FORMAT, tensor classifier, offset 3872)"},
      {kTooLarge, patched(good, sum_at(0), 0x1p260),
       "sum of channel 0 is 1.8526734277970591e+78, more than 10 tokens can give (ML_E_FORMAT, tensor "
       "layers.0.qkv, offset 40)"},
  };
  CHECK(problem(good).empty());
  DocumentedRules rules("mli");
  for (const auto& [rule, bytes, message] : table) {
    CAPTURE(message);
    CHECK(problem(bytes) == message);
    rules.met(rule, message);
  }
  rules.check_all_met();
  CHECK(problem(patched(good, 24, std::uint64_t{0})).find("more than 0 tokens can give") !=
        std::string::npos);
  CHECK(problem(patched(good, 32, std::uint64_t{0})).find("tensor classifier") != std::string::npos);

  // A check goes on: every channel, and every field of the header.
  std::string bad = patched(patched(good, sum_at(0), nan), sum_at(1), nan);
  bad = patched(bad, sum_at(40), -1.0);
  auto defects = check_imatrix(as_bytes(bad));
  REQUIRE(defects.size() == 3);
  CHECK(defects[1].message == "sum of channel 1 is NaN, must be finite");
  CHECK(defects[2].tensor == "layers.0.o");
  CHECK(check_imatrix(as_bytes(bad.substr(0, sum_at(41) + 3))).size() == 4);  // what is there of a cut file
  CHECK(check_imatrix(as_bytes(bad + "x")).size() == 4);
  defects = check_imatrix(as_bytes(patched(patched(patched(good, 8, 0u), 16, 172u), 20, 32u)));
  REQUIRE(defects.size() == 3);
  CHECK(defects[0].offset == 20u);
  CHECK(defects[1].offset == 8u);
  CHECK(defects[2].offset == 16u);
  CHECK(check_imatrix(as_bytes(patched(patched(good, 12, 33u), 20, 0u))).size() == 1);  // once, of dim
  std::string all(sum_at(32 * 80), '\xff');
  all.replace(0, 40, good, 0, 40);
  all = patched(patched(patched(patched(all, 8, 16u), 12, 32u), 16, 32u), 20, 0u);
  defects = check_imatrix(as_bytes(all));
  REQUIRE(defects.size() == 1001);
  CHECK(defects.back().message == fmt::format("{} more defects", 16 * 4 * 32 + 32 - 1000 + 1));
  for (std::size_t n = 0; n < good.size(); n += 61) CHECK(problem(good.substr(0, n)) != "");
}

TEST_CASE("what cannot be read is not written", "[imatrix]") {
  const TempFolder folder;
  auto out = OutputFile::create(folder.file("a.mli"), {});
  REQUIRE(out);
  Imatrix imatrix = sample();
  imatrix.sums.pop_back();
  CHECK_FALSE(write_imatrix(imatrix, *out));
  imatrix = sample();
  imatrix.sums[5] = -1;
  CHECK_FALSE(write_imatrix(imatrix, *out));
  imatrix = sample();
  imatrix.shape.hidden_dim = 172;
  CHECK_FALSE(write_imatrix(imatrix, *out));
}

TEST_CASE("an exact sum is rounded once, whatever the order", "[imatrix]") {
  OrderFreeSum sum;
  CHECK(sum.rounded() == 0);
  for (const double x : {1.0, 1e100, 1.0, -1e100}) sum.add(x);
  CHECK(sum.rounded() == 2);
  // Halfway between two doubles, decided by what comes far behind.
  for (const double tiny : {0.0, 0x1p-300}) {
    sum.clear();
    for (const double x : {tiny, 0x1p-53, 1.0}) sum.add(x);
    CHECK(sum.rounded() == (tiny > 0 ? 1 + 0x1p-52 : 1.0));
  }
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values;
    for (int i = 0; i < 9; ++i)
      values.push_back(
          std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 120) - 60));
    double expected = 0;
    for (int order = 0; order < 6; ++order) {
      std::shuffle(values.begin(), values.end(), random);
      sum.clear();
      for (const double x : values) sum.add(x);
      if (order == 0) expected = sum.rounded();
      CHECK(sum.rounded() == expected);
    }
  }
}

TEST_CASE("matrices add in any order to the same bits", "[imatrix]") {
  const TempFolder folder;
  std::vector<std::string> paths;
  std::vector<Imatrix> parts;
  for (std::uint64_t i = 0; i < 5; ++i) {
    parts.push_back(sample(i));
    folder.write("part" + std::to_string(i), file_of(parts.back()));
    paths.push_back(folder.file("part" + std::to_string(i)));
  }
  const auto first = merge_imatrices(paths);
  REQUIRE(first);
  CHECK(first->tokens == 50);
  CHECK(first->classifier_tokens == 15);
  for (std::size_t i = 0; i < first->sums.size(); ++i) {
    long double sum = 0;
    for (const Imatrix& part : parts) sum += part.sums[i];
    CHECK(first->sums[i] == Approx(static_cast<double>(sum)).epsilon(1e-15));
  }
  std::sort(paths.begin(), paths.end());
  do {
    const auto merged = merge_imatrices(paths);
    REQUIRE(merged);
    CHECK(merged->sums == first->sums);
  } while (std::next_permutation(paths.begin(), paths.end()));
  const auto alone = merge_imatrices({&paths[0], 1});
  REQUIRE(alone);
  CHECK(file_of(*alone) == read_file(paths[0]));
}

TEST_CASE("a mixture of models is refused by the field that differs", "[imatrix]") {
  const TempFolder folder;
  folder.write("a", file_of(sample()));
  const auto message = [&](auto change) {
    Imatrix other = sample();
    change(other);
    other.sums.assign(other.shape.n_sums(), 1.0);
    folder.write("b", file_of(other));
    const std::string paths[] = {folder.file("a"), folder.file("b")};
    const auto merged = merge_imatrices(paths);
    REQUIRE_FALSE(merged);
    CHECK(merged.error().path == folder.file("b"));
    return merged.error().message;
  };
  const std::string in = " in " + folder.file("a");
  CHECK(message([](Imatrix& m) { m.shape.n_layers = 3; }) == "n_layers is 3, but 2" + in);
  CHECK(message([](Imatrix& m) { m.shape.dim = 64; }) == "dim is 64, but 32" + in);
  CHECK(message([](Imatrix& m) { m.shape.hidden_dim = 32; }) == "hidden_dim is 32, but 64" + in);
  CHECK(message([](Imatrix& m) { m.shape.q_dim = 32; }) == "q_dim is 32, but 96" + in);
  CHECK(message([](Imatrix& m) { m.tokens = UINT64_MAX; }) == "tokens of all files exceed 64 bits");
  CHECK(message([](Imatrix& m) { m.classifier_tokens = UINT64_MAX; }) ==
        "classifier_tokens of all files exceed 64 bits");
  CHECK_FALSE(merge_imatrices({}));
}

TEST_CASE("statistics and importance of an input", "[imatrix]") {
  Imatrix imatrix = sample();
  std::fill(imatrix.sums.begin(), imatrix.sums.end(), 0.0);
  const std::uint64_t first = kShape.first_sum(1, ImatrixInput::o);
  for (std::uint64_t i = 0; i < 96; ++i) imatrix.sums[first + i] = i == 7 ? 905.0 : i == 8 ? 0.0 : 1.0;
  const ImatrixStats stats = imatrix_stats(imatrix, 1, ImatrixInput::o);
  CHECK(stats.mean == Approx(999.0 / 10 / 96));
  CHECK(stats.max == 90.5);
  CHECK(stats.max_channel == 7);
  CHECK(stats.top_share == Approx(905.0 / 999));
  CHECK(stats.n_zero == 1);
  CHECK(stats.profile[1] == Approx((905.0 + 3) / 4 / 10));
  CHECK(stats.profile[23] == Approx(0.1));

  const std::vector<float> importance = imatrix_importance(imatrix, 1, ImatrixInput::o);
  REQUIRE(importance.size() == 96);
  const double mean = 999.0 / 10 / 96;
  CHECK(importance[7] == Approx(90.5 / mean));
  CHECK(importance[0] == Approx(0.1 / mean));
  CHECK(importance[8] == 0.001f);
  CHECK(imatrix_importance(imatrix, 0, ImatrixInput::o).empty());
  imatrix.tokens = 0;
  CHECK(imatrix_importance(imatrix, 0, ImatrixInput::qkv).empty());
}

TEST_CASE("a report covers every byte of an MLI1 file", "[imatrix]") {
  const TempFolder folder;
  folder.write("a.mli", file_of(sample()));
  const auto report = inspect(folder.file("a.mli"), {.check = true});
  REQUIRE(report);
  CHECK(report->format == "mli1");
  CHECK(report->defects.empty());
  REQUIRE(report->arrays.size() == 9);
  std::uint64_t end = 40;
  for (const InfoArray& array : report->arrays) {
    CHECK(array.offset == end);
    CHECK(array.view);
    end += array.data.size();
  }
  CHECK(end == report->n_bytes());
  CHECK(report->arrays[7].name == "layers.1.down");
  CHECK(report->arrays[8].name == "classifier");
  folder.write("a.mli", file_of(sample()).substr(0, 100));
  CHECK_FALSE(inspect(folder.file("a.mli")));
  CHECK(inspect(folder.file("a.mli"), {.check = true})->defects.size() == 1);
}
