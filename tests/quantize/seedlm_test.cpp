// The encodings of NanoSeedLM folders against vectors of the reference codec, in both directions.

#include "encodings/lfsr.hpp"
#include "kernels/targets.hpp"
#include "quantize/encode_matrix.hpp"
#include "seedlm_vectors.hpp"
#include "util/half.hpp"

#include <cmath>
#include <filesystem>
#include <random>

using namespace ml;

namespace {

struct Coding {
  std::string name;  // in the vectors
  Encoding encoding;
};
const Coding kCodings[] = {{"p4", Encoding::seed4p4},
                           {"p3", Encoding::seed4},
                           {"q8", Encoding::q8g64},
                           {"q4", Encoding::q4g64},
                           {"q4g32", Encoding::q4g32}};

// The view of an encoding's entries; the shape is that of the decoded tensor.
TensorView view_of(const SeedlmVectors& file, const Coding& coding) {
  const std::vector<std::uint64_t>& shape = file.tensor(coding.name + ".decoded").shape;
  TensorView view{.encoding = coding.encoding, .rows = 1, .cols = shape.back()};
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) view.rows *= shape[i];
  if (encoding_info(coding.encoding).seed_bytes == 0) {
    view.data = file.bytes(coding.name + ".weight");
    view.scales = file.bytes(coding.name + ".scales");
    view.biases = file.bytes(coding.name + ".biases");
    return view;
  }
  view.data = file.bytes(coding.name + (coding.encoding == Encoding::seed4 ? ".nibbles" : ".coefs"));
  if (coding.encoding == Encoding::seed4p4) view.scales = file.bytes(coding.name + ".codes");
  view.biases = file.bytes(coding.name + ".exp_bias");
  view.seeds = file.bytes(coding.name + ".seeds");
  view.slice_rows = view.rows / (view.biases.size() / 4);
  return view;
}

void require_decoded(const TensorView& view, const std::vector<float>& expected,
                     void (*decode)(const TensorView&, std::uint64_t, std::span<float>)) {
  std::vector<float> row(view.cols);
  std::uint64_t wrong = 0;
  for (std::uint64_t r = 0; r < view.rows; ++r) {
    decode(view, r, row);
    wrong += std::memcmp(row.data(), expected.data() + r * view.cols, view.cols * 4) != 0 ? 1 : 0;
  }
  CHECK(wrong == 0);
}

void require_encoded(const SeedlmVectors& file, const Coding& coding, const kernels::Table& kernels) {
  const std::vector<float> weights = file.floats("orig");
  std::vector<std::byte> bf16(2 * weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) store_le(bf16.data() + 2 * i, f32_to_bf16(weights[i]));
  const std::vector<std::uint64_t>& shape = file.tensor("orig").shape;
  const std::vector<float> importance =
      file.has("importance") ? file.floats("importance") : std::vector<float>();
  const MatrixSource source{.slices = shape.size() == 3 ? shape[0] : 1,
                            .rows = shape[shape.size() - 2],
                            .cols = shape.back(),
                            .bf16 = bf16,
                            .importance = importance};
  ThreadPool pool(1);
  const auto encoded = encode_matrix(coding.encoding, source, {.pool = pool, .kernels = kernels});
  REQUIRE(encoded);
  const TensorView expected = view_of(file, coding);
  const auto same = [](const std::vector<std::byte>& a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  CHECK(same(encoded->data, expected.data));
  CHECK(same(encoded->scales, expected.scales));
  CHECK(same(encoded->biases, expected.biases));
  CHECK(same(encoded->seeds, expected.seeds));
}

std::vector<std::string> vector_files() {
  std::vector<std::string> files;
  std::string folder = corpus_path("seedlm");
  if (folder.empty() || kSanitized) folder = data_path("seedlm");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("seed encodings: the register's states", "[seedlm]") {
  std::uint16_t state = 1;
  for (const unsigned expected : {0x8000u, 0x4000u, 0x2000u, 0x1000u, 0x8800u, 0x4400u}) {
    state = lfsr_next(state);
    CHECK(state == expected);
  }
  std::uint64_t hash = 1469598103934665603u;
  for (std::uint32_t seed = 1; seed <= kLfsrPeriod; ++seed) {
    const std::uint64_t stream = lfsr_stream(static_cast<std::uint16_t>(seed));
    for (unsigned k = 1; k <= 24; ++k) hash = (hash ^ ((stream >> k) & 0xffffu)) * 1099511628211u;
  }
  CHECK(hash == 0x740e86e513d34463u);
  for (unsigned k = 1; k <= 32; ++k) CHECK(basis_element(lfsr_stream(0), k) == -32768);
}

TEST_CASE("golden vectors decode", "[seedlm]") {
  for (const std::string& path : vector_files()) {
    const SeedlmVectors file(path);
    for (const Coding& coding : kCodings) {
      if (!file.has(coding.name + ".decoded")) continue;
      INFO(path << " " << coding.name);
      const TensorView view = view_of(file, coding);
      require_decoded(view, file.floats(coding.name + ".decoded"), decode_row);
      if (file.has(coding.name + ".decoded_unrounded"))
        require_decoded(view, file.floats(coding.name + ".decoded_unrounded"), decode_row_unrounded);
    }
  }
}

TEST_CASE("golden vectors encode, on every target", "[seedlm]") {
  for (const Target target : available_targets()) {
    for (const std::string& path : vector_files()) {
      const SeedlmVectors file(path);
      if (!file.has("orig")) continue;
      if (target == Target::scalar && file.bytes("orig").size() > 20000) continue;
      for (const Coding& coding : kCodings) {
        if (!file.has(coding.name + ".decoded")) continue;
        INFO(target_name(target) << " " << path << " " << coding.name);
        require_encoded(file, coding, kernels::table_of(target));
      }
    }
  }
}

TEST_CASE("an expert that was never active costs the others nothing", "[seedlm]") {
  constexpr std::uint64_t kExperts = 3, kIdle = 1, kRows = 8, kCols = 32;
  std::mt19937 random(5);
  std::vector<std::byte> bf16(2 * kExperts * kRows * kCols);
  for (std::size_t i = 0; i < bf16.size(); i += 2)
    store_le(bf16.data() + i, f32_to_bf16(static_cast<float>(random() % 2001) * 1e-3f - 1.0f));
  std::vector<float> importance(kExperts * kCols);
  for (std::size_t i = 0; i < importance.size(); ++i)
    importance[i] = i / kCols == kIdle ? 0.0f : static_cast<float>(random() % 100);
  ThreadPool pool(1);
  const MatrixEncoder encoder{.pool = pool, .kernels = kernels::table_of(Target::best)};
  for (const Encoding encoding : {Encoding::seed4p4, Encoding::seed4}) {
    const auto stack = encode_matrix(
        encoding, {.slices = kExperts, .rows = kRows, .cols = kCols, .bf16 = bf16, .importance = importance},
        encoder);
    REQUIRE(stack);
    const auto error = [&](const EncodedMatrix& encoded, std::uint64_t n_slices, std::uint64_t slice,
                           std::uint64_t expert) {
      const TensorView view{.encoding = encoding,
                            .rows = n_slices * kRows,
                            .cols = kCols,
                            .data = encoded.data,
                            .scales = encoded.scales,
                            .biases = encoded.biases,
                            .seeds = encoded.seeds,
                            .slice_rows = kRows};
      double sum = 0;
      std::vector<float> row(kCols);
      for (std::uint64_t r = 0; r < kRows; ++r) {
        decode_row(view, slice * kRows + r, row);
        for (std::uint64_t c = 0; c < kCols; ++c) {
          const auto word = load_le<std::uint16_t>(bf16.data() + 2 * ((expert * kRows + r) * kCols + c));
          const double difference = double(row[c]) - double(bf16_to_f32(word));
          sum += difference * difference;
        }
      }
      return sum;
    };
    for (std::uint64_t expert = 0; expert < kExperts; ++expert) {
      INFO(encoding_info(encoding).name << " expert " << expert);
      const auto weights =
          std::span<const std::byte>(bf16).subspan(2 * expert * kRows * kCols, 2 * kRows * kCols);
      const auto one = [&](std::span<const float> columns) {
        const auto encoded = encode_matrix(
            encoding, {.rows = kRows, .cols = kCols, .bf16 = weights, .importance = columns}, encoder);
        REQUIRE(encoded);
        return *encoded;
      };
      const double in_stack = error(*stack, kExperts, expert, expert);
      const auto columns = std::span<const float>(importance).subspan(expert * kCols, kCols);
      CHECK(in_stack == error(one(columns), 1, 0, expert));  // as if it were alone
      // What no input ever drove is found as well as without importance, where nothing weighs.
      const double plain = error(one({}), 1, 0, expert);
      if (expert == kIdle) CHECK(std::fabs(in_stack - plain) <= 1e-3 * plain);
    }
  }
}

TEST_CASE("affine encodings: weights whose range is over float32 are refused by row", "[seedlm]") {
  ThreadPool pool(1);
  const MatrixEncoder encoder{.pool = pool, .kernels = kernels::table_of(Target::best)};
  const auto encode = [&](float low, float high) {
    std::vector<std::byte> bf16(2 * 2 * 64);
    store_le(bf16.data() + 2 * 64, f32_to_bf16(low));  // the first of row 1
    store_le(bf16.data() + 2 * 65, f32_to_bf16(high));
    return encode_matrix(Encoding::q8g64, {.rows = 2, .cols = 64, .bf16 = bf16}, encoder);
  };
  CHECK(encode(-1.6e38f, 1.6e38f));
  // The range is not; 255 times the scale as BF16 is.
  for (const auto& [low, high] :
       {std::pair(-3e38f, 3e38f), std::pair(-2.5521177519070385e+38f, 8.473828473128839e+37f)}) {
    const auto encoded = encode(low, high);
    REQUIRE_FALSE(encoded);
    CHECK(encoded.error().status == Status::limit);
    CHECK(encoded.error().message == "weights of row 1 are too large for q8g64");
  }
}
