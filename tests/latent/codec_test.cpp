#include "catch.hpp"
#include "data.hpp"
#include "formats/safetensors.hpp"
#include "kernels/table.hpp"
#include "kernels/targets.hpp"
#include "runtime/latent_codec.hpp"
#include "util/bytes.hpp"

#include <ml/target.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

using namespace ml;

namespace {

class Vectors {
 public:
  Vectors() : bytes_(read_file(data_path("seedlm/kv_cache.safetensors"))) {
    auto file = read_safetensors(std::as_bytes(std::span(bytes_)));
    REQUIRE(file);
    for (SafetensorsTensor& tensor : file->tensors) tensors_[tensor.name] = std::move(tensor);
  }
  std::vector<float> floats(const std::string& name) const {
    const auto& data = tensors_.at(name).data;
    std::vector<float> values(data.size() / 4);
    load_le(data.data(), std::span(values));
    return values;
  }
  std::vector<std::uint8_t> codes(const std::string& name) const {
    const auto& data = tensors_.at(name).data;
    std::vector<std::uint8_t> values(data.size());
    std::memcpy(values.data(), data.data(), data.size());
    return values;
  }
  std::uint64_t cols(const std::string& name) const { return tensors_.at(name).shape.back(); }

 private:
  std::string bytes_;
  std::map<std::string, SafetensorsTensor> tensors_;
};

// A cached row by way of the attention kernel: a single key has all of the weight, so its values come out.
std::vector<float> decode_row(const std::vector<std::uint8_t>& row, std::uint64_t dim, bool fp4,
                              Target target) {
  std::vector<std::uint8_t> cache(row.size() * kernels::kKeyBlock);
  std::copy(row.begin(), row.end(), cache.begin());
  std::vector<float> query(kernels::padded_floats(dim));
  std::vector<float> out(dim);
  std::vector<float> scratch(kernels::attention_floats(dim) + 16);
  const kernels::AttentionQuery queries[] = {
      {.query = query.data(), .out = out.data(), .first = 0, .last = 0}};
  kernels::table_of(target).attend[fp4 ? kernels::kKvFp4 : kernels::kKvFp8]({.queries = queries,
                                                                             .n_queries = 1,
                                                                             .keys = cache.data(),
                                                                             .values = cache.data(),
                                                                             .capacity = kernels::kKeyBlock,
                                                                             .head_dim = dim,
                                                                             .value_dim = dim,
                                                                             .scale = 1,
                                                                             .softcap = 0,
                                                                             .scratch = scratch.data()});
  return out;
}

}  // namespace

TEST_CASE("latent caches have the codes, scales and values of the reference", "[latent]") {
  const Vectors vectors;
  const auto x = vectors.floats("x");
  const std::uint64_t width = vectors.cols("x");
  const auto rope = vectors.codes("fp8_rope.codes");
  const auto rope_scales = vectors.codes("fp8_rope.scales");
  struct Case {
    std::string name;
    bool fp4;
  };
  for (const Case& test :
       {Case{"fp8", false}, Case{"fp4", true}, Case{"fp4_r96", true}, Case{"fp4_r320", true}}) {
    INFO(test.name);
    const std::uint64_t rank = vectors.cols(test.name + ".decoded");
    const auto decoded = vectors.floats(test.name + ".decoded");
    const auto rope_decoded = vectors.floats("fp8_rope.decoded");
    const auto codes = vectors.codes(test.name + ".codes");
    const auto scales = vectors.codes(test.name + ".scales");
    const std::uint64_t n_rows = x.size() / width;
    const std::uint64_t n_codes = codes.size() / n_rows;
    const std::uint64_t n_scales = scales.size() / n_rows;
    for (std::uint64_t r = 0; r < n_rows; ++r) {
      std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(r * width),
                             x.begin() + static_cast<std::ptrdiff_t>(r * width + rank));
      row.insert(row.end(), x.begin() + static_cast<std::ptrdiff_t>(r * width),
                 x.begin() + static_cast<std::ptrdiff_t>(r * width + 128));
      std::vector<std::uint8_t> got(kernels::latent_row_bytes(row.size(), test.fp4));
      encode_latent(row, test.fp4, got.data());
      std::vector<std::uint8_t> want(codes.begin() + static_cast<std::ptrdiff_t>(r * n_codes),
                                     codes.begin() + static_cast<std::ptrdiff_t>((r + 1) * n_codes));
      const auto append = [&](const std::vector<std::uint8_t>& from, std::uint64_t n) {
        want.insert(want.end(), from.begin() + static_cast<std::ptrdiff_t>(r * n),
                    from.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
      };
      append(scales, n_scales);
      append(rope, 128);
      append(rope_scales, 4);
      CHECK(got == want);
      for (const Target target : available_targets()) {
        const auto values = decode_row(got, row.size(), test.fp4, target);
        CHECK(std::equal(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                         decoded.begin() + static_cast<std::ptrdiff_t>(r * rank)));
        CHECK(std::equal(values.begin() + static_cast<std::ptrdiff_t>(rank), values.end(),
                         rope_decoded.begin() + static_cast<std::ptrdiff_t>(r * 128)));
      }
    }
  }
}

TEST_CASE("what is not finite stays so in a latent cache", "[latent]") {
  for (const bool fp4 : {false, true}) {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      for (const std::size_t at : {0u, 300u, 330u}) {
        std::vector<float> row(320 + 128, 1.0f);
        row[at] = bad;
        std::vector<std::uint8_t> bytes(kernels::latent_row_bytes(row.size(), fp4));
        encode_latent(row, fp4, bytes.data());
        CHECK(!std::isfinite(decode_row(bytes, row.size(), fp4, Target::scalar)[at]));
      }
    }
  }
}
