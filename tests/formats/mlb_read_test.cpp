// Reading whole .mlb files: flags, arrays, quants, padding, length, and files that lie.

#include "catch.hpp"
#include "folder.hpp"
#include "formats/mlb.hpp"
#include "mlb_builder.hpp"

#include <fmt/format.h>

#include <limits>
#include <set>

using namespace ml;

namespace {

void require_refused(const std::string& file, Status status, std::uint64_t offset,
                     const std::string& message) {
  CAPTURE(message);
  const auto read = read_mlb(bytes_of(file));
  REQUIRE_FALSE(read);
  CHECK(read.error().message == message);
  CHECK(read.error().status == status);
  CHECK(read.error().offset == offset);
  const std::vector<Error> defects = check_mlb(bytes_of(file));
  REQUIRE(defects.size() == 1);
  CHECK(defects[0].message == message);
}

Result<Model> open_bytes(const std::string& file, const OpenOptions& options = {}) {
  const TempFolder folder;
  folder.write("model.mlb", file);
  auto input = InputBytes::open(folder.file("model.mlb"));
  REQUIRE(input);
  return open_mlb(*input, options);
}

// Either outcome is right; a failure says something, and check_mlb() finds at least as much.
void require_sane(const std::string& file) {
  const auto read = read_mlb(bytes_of(file));
  if (read) return;
  CHECK_FALSE(read.error().message.empty());
  CHECK(read.error().message.find('\n') == std::string::npos);
  CHECK(read.error().offset.has_value());
  CHECK_FALSE(check_mlb(bytes_of(file), 1).empty());
}

}  // namespace

TEST_CASE("a plain file: every array where the format puts it", "[mlb]") {
  MlbBuilder builder;
  builder.header.n_layers = 1;
  const std::string bytes = builder.build();
  const auto file = read_mlb(bytes_of(bytes));
  REQUIRE(file);
  // By hand: q of 5 x 32 is 160 -> 192 bytes, its 5 scales are 20 -> 64; a norm is 128; 32 x 32 takes 1024 +
  // 128, 16 x 32 takes 512 + 64; 64 x 32 takes 2048 + 256.
  struct Row {
    const char* name;
    std::uint64_t offset, n_bytes, scale_offset, n_scale_bytes;
  };
  const std::vector<Row> expected{
      {"tok_emb", 256, 160, 448, 20},         {"layers.0.attn_norm", 512, 128, 0, 0},
      {"layers.0.wq", 640, 1024, 1664, 128},  {"layers.0.wk", 1792, 512, 2304, 64},
      {"layers.0.wv", 2368, 512, 2880, 64},   {"layers.0.wo", 2944, 1024, 3968, 128},
      {"layers.0.ffn_norm", 4096, 128, 0, 0}, {"layers.0.w1", 4224, 2048, 6272, 256},
      {"layers.0.w2", 6528, 2048, 8576, 256}, {"layers.0.w3", 8832, 2048, 10880, 256},
      {"final_norm", 11136, 128, 0, 0},       {"wcls", 11264, 160, 11456, 20},
  };
  REQUIRE(file->arrays.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const MlbArray& array = file->arrays[i];
    CAPTURE(expected[i].name);
    CHECK(array.name() == expected[i].name);
    CHECK(array.offset == expected[i].offset);
    CHECK(array.n_bytes == expected[i].n_bytes);
    CHECK(array.scale_offset == expected[i].scale_offset);
    CHECK(array.n_scale_bytes == expected[i].n_scale_bytes);
  }
  CHECK(file->n_bytes == 11476);
  CHECK(bytes.size() == 11520);
}

TEST_CASE("a file with every feature: arrays, encodings, order", "[mlb]") {
  const MlbBuilder builder = MlbBuilder::everything();
  const std::string bytes = builder.build();
  const auto file = read_mlb(bytes_of(bytes));
  REQUIRE(file);
  CHECK(check_mlb(bytes_of(bytes)).empty());
  CHECK(file->layer_flags == builder.flags);
  std::vector<std::string> names;
  for (const MlbArray& array : file->arrays) {
    if (array.layer == 1 || array.layer == 2 || array.layer == kNoLayer) {
      names.push_back(fmt::format("{} {} {}x{}", array.name(), encoding_info(array.encoding).name, array.rows,
                                  array.cols));
    }
    CHECK(array.offset % 64 == 0);
    CHECK(array.scale_offset % 64 == 0);
  }
  const std::vector<std::string> expected{
      "tok_emb q4_0 5x32",
      "layers.1.attn_norm f32 1x32",
      "layers.1.lqkv q8_0 48x32",
      "layers.1.lz q4_0 32x32",
      "layers.1.lb q8_0 4x32",
      "layers.1.la q8_0 4x32",
      "layers.1.lconv f32 48x4",
      "layers.1.dt_bias f32 1x4",
      "layers.1.A_log f32 1x4",
      "layers.1.lnorm f32 1x8",
      "layers.1.lout q4_0 32x32",
      "layers.1.ffn_norm f32 1x32",
      "layers.1.w1 q4_0 64x32",
      "layers.1.w2 q8_0 32x64",
      "layers.1.w3 q4_0 64x32",
      "layers.1.post_attn_norm f32 1x32",
      "layers.1.post_ffn_norm f32 1x32",
      "layers.2.attn_norm f32 1x32",
      "layers.2.wq q8_0 64x32",
      "layers.2.wk q8_0 32x32",
      "layers.2.wv q4_0 32x32",
      "layers.2.wo q4_0 32x64",
      "layers.2.wg q8_0 64x32",
      "layers.2.bq f32 1x64",
      "layers.2.bk f32 1x32",
      "layers.2.bv f32 1x32",
      "layers.2.q_norm f32 1x16",
      "layers.2.k_norm f32 1x16",
      "layers.2.ffn_norm f32 1x32",
      "layers.2.w1 q4_0 64x32",
      "layers.2.w2 q8_0 32x64",
      "layers.2.w3 q4_0 64x32",
      "layers.2.post_attn_norm f32 1x32",
      "layers.2.post_ffn_norm f32 1x32",
      "final_norm f32 1x32",
      "wcls q4_0 5x32",
  };
  CHECK(names == expected);
  const ModelDesc& desc = file->desc;
  CHECK(desc.layers[0].windowed);
  CHECK(desc.layers[0].local_rope);
  CHECK(desc.layers[1].kind == LayerKind::gated_delta);
  CHECK(desc.layers[2].no_rope);
  CHECK_FALSE(desc.layers[3].windowed);
}

TEST_CASE("q8_mask: the classes' bits", "[mlb]") {
  MlbBuilder builder = MlbBuilder::everything();
  const auto q8_names = [&](std::uint32_t mask, bool shared) {
    builder.header.q8_mask = mask;
    builder.header.shared_classifier = shared;
    std::set<std::string> names;
    for (const MlbArray& array : builder.arrays()) {
      if (array.encoding == Encoding::q8_0) names.insert(std::string(role_name(array.role)));
    }
    return names;
  };
  using Names = std::set<std::string>;
  CHECK(q8_names(0, false) == Names{"la", "lb"});
  CHECK(q8_names(1, false) == Names{"la", "lb", "tok_emb"});
  CHECK(q8_names(2, false) == Names{"la", "lb", "wcls"});
  CHECK(q8_names(1, true) == Names{"la", "lb", "tok_emb"});
  CHECK(q8_names(2, true) == Names{"la", "lb", "tok_emb"});
  CHECK(q8_names(4, false) == Names{"la", "lb", "lqkv", "wg", "wk", "wq"});
  CHECK(q8_names(8, false) == Names{"la", "lb", "lz", "wv"});
  CHECK(q8_names(16, false) == Names{"la", "lb", "lout", "wo"});
  CHECK(q8_names(32, false) == Names{"la", "lb", "w1", "w3"});
  CHECK(q8_names(64, false) == Names{"la", "lb", "w2"});
}

TEST_CASE("views point into the input, aligned", "[mlb]") {
  const std::string bytes = MlbBuilder::everything().build();
  const TempFolder folder;
  folder.write("model.mlb", bytes);
  auto input = InputBytes::open(folder.file("model.mlb"));
  REQUIRE(input);
  const auto* first = (*input)->data().data();
  const auto model = open_mlb(*input, {});
  REQUIRE(model);
  for (const Tensor& tensor : model->tensors()) {
    CHECK(tensor.view.data.data() >= first);
    CHECK(tensor.view.data.data() + tensor.view.data.size() <= first + bytes.size());
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.view.data.data()) % 64 == 0);
  }
  CHECK(model->find(Role::lconv, 1)->view.cols == 4);
}

TEST_CASE("layer flags that make no sense", "[mlb]") {
  MlbBuilder builder = MlbBuilder::everything();
  std::string file = builder.build();
  const auto with_flag = [&](std::size_t layer, int bits) {
    std::string changed = file;
    changed[256 + layer] = static_cast<char>(bits);
    return changed;
  };
  require_refused(with_flag(2, 16), Status::format, 258,
                  "flags of layer 2 are 16, must not have bits beyond 15");
  require_refused(with_flag(3, 255), Status::format, 259,
                  "flags of layer 3 are 255, must not have bits beyond 15");
  require_refused(with_flag(0, 6), Status::format, 256,
                  "flags of layer 0 are 6, must not have both bit 1 (local RoPE base) and bit 2 (no RoPE)");
  require_refused(with_flag(1, 9), Status::format, 257,
                  "flags of layer 1 are 9, must have bit 3 (linear attention) alone");
  require_refused(with_flag(1, 0), Status::format, 140,
                  "lin_k_heads is 2, must be 0 where no layer has flag bit 3");

  builder = {};
  builder.header.layer_flags = 1;
  builder.flags = {0, 0};
  file = builder.build();
  require_refused(
      with_flag(1, 2), Status::format, 257,
      "flags of layer 1 are 2, must not have bit 1 (local RoPE base) where rope_local_theta is 0");
  require_refused(
      with_flag(1, 8), Status::format, 257,
      "flags of layer 1 are 8, must not have bit 3 (linear attention) where the lin_ fields are 0");
  for (const int fine : {0, 1, 4, 5}) CHECK(read_mlb(bytes_of(with_flag(1, fine))));
}

TEST_CASE("bytes after the end, and the padding that may be absent", "[mlb]") {
  const std::string file = MlbBuilder().build();
  const std::uint64_t end = read_mlb(bytes_of(file))->n_bytes;
  REQUIRE(end < file.size());
  for (std::size_t n = end; n <= file.size(); ++n) {
    CHECK(read_mlb(bytes_of(file.substr(0, n))));
    CHECK(check_mlb(bytes_of(file.substr(0, n))).empty());
  }
  require_refused(
      file + '\0', Status::format, file.size(),
      fmt::format("file is {} bytes, must end at {} (after tensor wcls)", file.size() + 1, file.size()));
  require_refused(
      file + file, Status::format, file.size(),
      fmt::format("file is {} bytes, must end at {} (after tensor wcls)", 2 * file.size(), file.size()));
}

TEST_CASE("every truncation says what is missing", "[mlb]") {
  for (const MlbBuilder& builder : {MlbBuilder(), MlbBuilder::everything()}) {
    const std::string file = builder.build();
    const auto whole = read_mlb(bytes_of(file));
    REQUIRE(whole);
    for (std::uint64_t n = 0; n < whole->n_bytes; ++n) {
      const std::string cut = file.substr(0, n < 1024 ? n : 0);  // exact memory where bytes are looked at
      const auto read = read_mlb(n < 1024 ? bytes_of(cut) : bytes_of(file).first(n));
      REQUIRE_FALSE(read);
      std::string expected;
      if (n == 0) {
        expected = "file is empty";
      } else if (n < 256) {
        expected = fmt::format("file is {} bytes, the header needs 256", n);
      } else if (n < 256 + builder.flags.size()) {
        expected =
            fmt::format("file is {} bytes, the array of layer flags needs {}", n, 256 + builder.flags.size());
      } else {
        for (const MlbArray& array : whole->arrays) {
          if (array.end() <= n) continue;
          expected = fmt::format("file is {} bytes, tensor {} needs {}", n, array.name(), array.end());
          break;
        }
      }
      if (read.error().message != expected || read.error().offset != n ||
          read.error().status != Status::format) {
        CHECK(read.error().message == expected);
        CHECK(read.error().offset == n);
      }
    }
  }
}

TEST_CASE("every header and flag byte at 0, 1, 127, 255", "[mlb]") {
  for (const MlbBuilder& builder : {MlbBuilder(), MlbBuilder::everything()}) {
    const std::string file = builder.build();
    for (std::size_t i = 0; i < 256 + builder.flags.size(); ++i) {
      for (const int value : {0, 1, 127, 255}) {
        std::string changed = file;
        changed[i] = static_cast<char>(value);
        require_sane(changed);
      }
    }
  }
}

TEST_CASE("huge dimensions in a tiny file cost nothing", "[mlb]") {
  MlbBuilder builder;
  MlbHeader& h = builder.header;
  h.dim = 65536;
  h.n_layers = 65536;
  h.n_heads = 65536;
  h.n_kv_heads = 65536;
  h.head_dim = 0;
  h.hidden_dim = 65536;
  h.vocab = 1u << 24;
  h.n_heads = h.n_kv_heads = 32768;
  require_refused(header_bytes(h), Status::format, 256,
                  "file is 256 bytes, tensor tok_emb needs 1236950581504");
  // Sizes past 64 bits, as a writer would meet them.
  h.lin_k_heads = h.lin_v_heads = h.lin_k_dim = h.lin_v_dim = h.lin_conv = 65536;
  std::vector<MlbArray> arrays;
  const std::vector<std::uint8_t> flags(65536, 8);
  const auto error = lay_out_mlb(mlb_desc(h, flags), mlb_storage(h), true, std::nullopt, arrays);
  REQUIRE(error);
  CHECK(error->message == "size does not fit into 64 bits");
}

TEST_CASE("a quant of -128 is refused with its place, unless trusted", "[mlb]") {
  const MlbBuilder builder;
  const MlbArray wk = builder.array(Role::wk, 1);
  std::string file = builder.build();
  file[wk.offset + 3 * 32 + 7] = static_cast<char>(-128);
  file[wk.offset + 9 * 32] = static_cast<char>(-128);
  CHECK(read_mlb(bytes_of(file)));
  const auto model = open_bytes(file);
  REQUIRE_FALSE(model);
  CHECK(model.error().status == Status::format);
  CHECK(model.error().offset == wk.offset + 3 * 32 + 7);
  CHECK(model.error().tensor == "layers.1.wk");
  CHECK(model.error().message == "quant of row 3, column 7 is -128, must be -127 to 127 (the first of 2)");
  CHECK(open_bytes(file, {.trust = true}));
  for (const unsigned threads : {1u, 2u, 3u, 7u}) {
    const std::vector<Error> defects = check_mlb(bytes_of(file), threads);
    REQUIRE(defects.size() == 1);
    CHECK(describe(defects[0]) == describe(model.error()));
  }
}

TEST_CASE("nibbles of any value are valid", "[mlb]") {
  MlbBuilder builder;
  builder.header.wtype = 2;
  std::string file = builder.build();
  const MlbArray wq = builder.array(Role::wq, 0);
  for (std::uint64_t i = 0; i < wq.n_bytes; ++i) file[wq.offset + i] = static_cast<char>(0x80);
  CHECK(open_bytes(file));
  CHECK(check_mlb(bytes_of(file)).empty());
}

TEST_CASE("check reports what opening lets pass: padding, scales and floats that are not finite", "[mlb]") {
  for (const bool half : {false, true}) {
    MlbBuilder builder = MlbBuilder::everything();
    builder.header.scale_f16 = half;
    std::string file = builder.build();
    const MlbArray tok_emb = builder.array(Role::tok_emb);
    const MlbArray norm = builder.array(Role::attn_norm, 0);
    const MlbArray w2 = builder.array(Role::w2, 3);
    file[256 + 4] = 1;                           // after the flags
    file[tok_emb.offset + tok_emb.n_bytes] = 2;  // after the quants
    file[tok_emb.end() + 1] = 3;                 // after the scales
    const float nan = std::numeric_limits<float>::quiet_NaN();
    store_le(file.data() + norm.offset + 4 * 5, nan);
    const float infinity = -std::numeric_limits<float>::infinity();
    const std::uint64_t width = half ? 2 : 4;
    char* const scale = file.data() + w2.scale_offset + width * 3;
    if (half) {
      store_le(scale, std::uint16_t(0xfc00));
    } else {
      store_le(scale, infinity);
    }
    file[w2.offset + 10] = static_cast<char>(-128);

    CHECK(open_bytes(file, {.trust = true}));
    const std::vector<Error> defects = check_mlb(bytes_of(file));
    std::vector<std::string> lines;
    for (const Error& defect : defects) lines.push_back(describe(defect));
    CHECK(lines ==
          std::vector<std::string>{
              "padding byte is 1, must be 0 (ML_E_FORMAT, tensor layer flags, offset 260)",
              fmt::format("padding byte is 2, must be 0 (ML_E_FORMAT, tensor tok_emb, offset {})",
                          tok_emb.offset + tok_emb.n_bytes),
              fmt::format("padding byte is 3, must be 0 (ML_E_FORMAT, tensor tok_emb, offset {})",
                          tok_emb.end() + 1),
              fmt::format("value of row 0, column 5 is NaN, must be finite (ML_E_FORMAT, tensor "
                          "layers.0.attn_norm, offset {})",
                          norm.offset + 20),
              fmt::format("quant of row 0, column 10 is -128, must be -127 to 127 (ML_E_FORMAT, tensor "
                          "layers.3.w2, offset {})",
                          w2.offset + 10),
              fmt::format("scale of row 1, column 32 is infinite, must be finite (ML_E_FORMAT, tensor "
                          "layers.3.w2, offset {})",
                          w2.scale_offset + 3 * width),
          });
  }
}

TEST_CASE("check looks at what a truncated file still holds", "[mlb]") {
  const MlbBuilder builder;
  std::string file = builder.build();
  file[builder.array(Role::wq, 0).offset] = static_cast<char>(-128);
  file.resize(builder.array(Role::wq, 1).offset + 5);
  const std::vector<Error> defects = check_mlb(bytes_of(file));
  REQUIRE(defects.size() == 2);
  CHECK(defects[0].tensor == "layers.0.wq");
  CHECK(defects[1].message.find("tensor layers.1.wq needs") != std::string::npos);
}
