// Tensors of a GGUF file whose rows or columns move, one by one.

#include "convert/gguf_copy.hpp"
#include "catch.hpp"
#include "encodings/ggml_blocks.hpp"
#include "util/bytes.hpp"

#include <string>
#include <vector>

using namespace ml;

TEST_CASE("groups of columns move whole where a block holds several of them", "[formats]") {
  const std::string path = "model.gguf";
  for (const char* name : {"Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"}) {
    INFO(name);
    const GgufTensorType& type = *find_gguf_tensor_type(name);
    const std::uint64_t cols = 2 * 256;
    const std::uint64_t n_blocks = cols / type.block_weights;
    std::vector<std::byte> bytes(2 * n_blocks * type.block_bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 37 % 59);  // finite scales
    std::vector<float> decoded(2 * cols);
    find_ggml_decoder(name)(bytes.data(), 2 * n_blocks, decoded.data());

    for (const std::uint64_t n_groups : {2, 4, 8, 32, 64}) {
      const std::uint64_t group = cols / n_groups;
      const GgufTensor tensor{
          .name = "ssm_out", .type = &type, .dims = {cols, 2}, .offset = 0, .data = bytes};
      GgufTake take{.tensor = &tensor, .path = &path, .rows = 2, .cols = cols};
      take.decode = find_ggml_decoder(name);
      for (std::uint64_t g = 0; g < n_groups; ++g)
        take.col_order.push_back((g + 1) * 3 % (n_groups + 1) % n_groups);
      const auto mapped = copy_gguf_tensors({take});
      REQUIRE(mapped);
      const std::span<const std::byte> data = mapped->tensors.front().view.data;
      REQUIRE(data.size() == 2 * cols * sizeof(float));
      std::size_t n_wrong = 0;
      for (std::uint64_t i = 0; i < 2 * cols; ++i) {
        const std::uint64_t row = i / cols, col = i % cols;
        const float want = decoded[row * cols + take.col_order[col / group] * group + col % group];
        n_wrong += load_le<float>(data.data() + i * sizeof(float)) != want;
      }
      CHECK(n_wrong == 0);
    }
  }
}
