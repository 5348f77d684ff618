// The encodings of NanoSeedLM folders against vectors of the reference codec, in both directions.

#include "encodings/lfsr.hpp"
#include "kernels/targets.hpp"
#include "quantize/encode_matrix.hpp"
#include "seedlm_vectors.hpp"
#include "util/half.hpp"

#include <filesystem>

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
