// GGUF as a model: what the metadata and the tensors must be, types, splits, and the blocks of ggml.

#include "formats/gguf_builder.hpp"

#include "catch.hpp"
#include "convert/gguf_arch.hpp"
#include "encodings/ggml_blocks.hpp"
#include "folder.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"

#include <ml/inspect.hpp>
#include <ml/model.hpp>
#include <ml/quantize.hpp>

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <numbers>

using namespace ml;

namespace {

using B = GgufBuilder;

constexpr std::uint32_t kF32 = 0, kQ4_0 = 2, kQ8_0 = 8, kQ6_K = 14, kQ2_K = 10;

// A llama of one layer: dim 256, hidden 256, 4 heads of 64, 2 of keys, vocabulary 8; F32, every byte zero.
struct TinyModel : GgufBuilder {
  TinyModel() {
    add("general.architecture", "llama");
    add("llama.block_count", std::uint32_t(1));
    add("llama.context_length", std::uint32_t(128));
    add("llama.embedding_length", std::uint32_t(256));
    add("llama.feed_forward_length", std::uint32_t(256));
    add("llama.attention.head_count", std::uint32_t(4));
    add("llama.attention.head_count_kv", std::uint32_t(2));
    add("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    tensor("token_embd.weight", {256, 8});
    tensor("output_norm.weight", {256});
    tensor("blk.0.attn_norm.weight", {256});
    tensor("blk.0.attn_q.weight", {256, 256});
    tensor("blk.0.attn_k.weight", {256, 128});
    tensor("blk.0.attn_v.weight", {256, 128});
    tensor("blk.0.attn_output.weight", {256, 256});
    tensor("blk.0.ffn_norm.weight", {256});
    tensor("blk.0.ffn_gate.weight", {256, 256});
    tensor("blk.0.ffn_up.weight", {256, 256});
    tensor("blk.0.ffn_down.weight", {256, 256});
  }
  void tensor(const std::string& name, std::vector<std::uint64_t> dims, std::uint32_t type = kF32) {
    tensors.push_back({name, std::move(dims), type, 0});
  }
  Tensor& at(const std::string& name) {
    for (Tensor& one : tensors) {
      if (one.name == name) return one;
    }
    FAIL("no tensor " << name);
    return tensors.front();
  }
  void drop(const std::string& name) {
    std::erase_if(tensors, [&](const Tensor& one) { return one.name == name; });
  }
  // Offsets and zeros for what the tensors have become.
  std::string bytes() {
    std::uint64_t end = 0;
    for (Tensor& one : tensors) {
      std::uint64_t n = 1;
      for (const std::uint64_t dim : one.dims) n *= dim;
      const GgufTensorType& type = *find_gguf_tensor_type(one.type);
      one.offset = end;
      end += (n / type.block_weights * type.block_bytes + 31) / 32 * 32;
    }
    data.resize(end);
    return file();
  }
};

// The metadata under the name of another architecture.
TinyModel of_architecture(const std::string& arch) {
  TinyModel model;
  for (auto& [key, value] : model.entries) {
    if (key.starts_with("llama.")) key = arch + key.substr(5);
  }
  model.set("general.architecture", B::type(GgufType::string) + B::text(arch));
  return model;
}

std::string open_error(const std::string& bytes, const OpenOptions& options = {}) {
  const TempFolder folder;
  folder.write("m.gguf", bytes);
  const auto model = Model::open(folder.file("m.gguf"), options);
  if (model) return "";
  std::string text = describe(model.error());
  const std::string path = folder.file("m.gguf") + ": ";
  return text.starts_with(path) ? text.substr(path.size()) : text;
}

std::string with(const std::function<void(TinyModel&)>& change) {
  TinyModel model;
  change(model);
  return model.bytes();
}

}  // namespace

TEST_CASE("a GGUF model whose metadata or tensors do not fit is refused by name", "[formats]") {
  CHECK(open_error(TinyModel().bytes()) == "");
  const auto key = [](const char* name, std::uint32_t value) {
    return with([&](TinyModel& m) { m.set(name, B::type(GgufType::u32) + B::le(value)); });
  };
  const auto scale = [](double value) {
    return with([&](TinyModel& m) {
      m.entries.emplace_back("llama.attention.scale", B::type(GgufType::f64) + B::le(value));
    });
  };
  const std::string list = "must be one of llama, qwen2, qwen3, qwen35, gemma, gemma2, gemma3, smollm3, phi3";
  const std::pair<std::string, std::string> table[] = {
      {with([](auto& m) { m.erase("general.architecture"); }),
       "general.architecture is missing, " + list + " (ML_E_FORMAT)"},
      {with([](auto& m) { m.set("general.architecture", B::type(GgufType::u32) + B::le<std::uint32_t>(1)); }),
       "general.architecture is 1, " + list + " (ML_E_FORMAT)"},
      {with([](auto& m) { m.set("general.architecture", B::type(GgufType::string) + B::text("falcon")); }),
       "general.architecture is \"falcon\", " + list + " (ML_E_UNSUPPORTED, offset "},
      {with([](auto& m) { m.erase("llama.block_count"); }),
       "llama.block_count is missing, must be a number (ML_E_FORMAT)"},
      {with([](auto& m) { m.set("llama.block_count", B::type(GgufType::string) + B::text("1")); }),
       "llama.block_count is \"1\", must be a number (ML_E_FORMAT, offset "},
      {with([](auto& m) { m.set("llama.embedding_length", B::type(GgufType::f32) + B::le(256.0f)); }),
       "llama.embedding_length is 256, must be a whole number (ML_E_FORMAT, offset "},
      {key("llama.embedding_length", 0), "llama.embedding_length is 0, must be an integer from 1 to 65536"},
      {key("llama.block_count", 70000), "llama.block_count is 70000, must be an integer from 1 to 65536"},
      {key("llama.attention.head_count", 3), "llama.attention.head_count_kv is 2, must be a divisor"},
      {key("llama.attention.head_count_kv", 3), "llama.attention.head_count_kv is 3, must be a divisor"},
      {key("llama.context_length", 0), "llama.context_length is 0, must be an integer from 1 to 16777216"},
      {with([](auto& m) {
         m.set("llama.attention.layer_norm_rms_epsilon", B::type(GgufType::f32) + B::le(-1.0f));
       }),
       "llama.attention.layer_norm_rms_epsilon is -1.0, must be a number of 0 or more"},
      {with([](auto& m) {
         m.set("llama.attention.layer_norm_rms_epsilon", B::type(GgufType::f32) + B::le(std::nanf("")));
       }),
       "llama.attention.layer_norm_rms_epsilon is nan, must be a finite number (ML_E_FORMAT, offset "},
      {with([](auto& m) {
         m.set("llama.attention.layer_norm_rms_epsilon", B::type(GgufType::f64) + B::le(-HUGE_VAL));
       }),
       "llama.attention.layer_norm_rms_epsilon is -inf, must be a finite number (ML_E_FORMAT, offset "},
      {with([](auto& m) {
         m.set("llama.attention.layer_norm_rms_epsilon", B::type(GgufType::f64) + B::le(1e-60));
       }),
       "llama.attention.layer_norm_rms_epsilon is 1e-60, must be a number of 0 or more within float32"},
      {scale(1e60),
       "llama.attention.scale is 1e+60, must be a number of 0 or more within float32 (ML_E_FORMAT, "},
      {scale(1e-60),
       "llama.attention.scale is 1e-60, must be a number of 0 or more within float32 (ML_E_FORMAT, "},
      {scale(-0.5),
       "llama.attention.scale is -0.5, must be a number of 0 or more within float32 (ML_E_FORMAT, "},
      {with([](auto& m) {
         m.add_numbers("llama.x", GgufType::u32, std::vector<std::uint32_t>{1});
         m.erase("llama.feed_forward_length");
         m.add_numbers("llama.feed_forward_length", GgufType::u32, std::vector<std::uint32_t>{256, 512});
       }),
       "llama.feed_forward_length is an array of 2 u32, must be the same in every layer (ML_E_UNSUPPORTED, "},
      {with([](auto& m) { m.add("llama.expert_count", std::uint32_t(8)); }),
       "llama.expert_count is 8, must be 0: mixtures of experts cannot be read (ML_E_UNSUPPORTED, "},
      {with([](auto& m) { m.add("llama.attention.causal", false); }),
       "llama.attention.causal is false, must be true (ML_E_UNSUPPORTED, "},
      {with([](auto& m) { m.add("llama.attention.value_length", std::uint32_t(32)); }),
       "llama.attention.value_length is 32, must be attention.key_length, 64 (ML_E_UNSUPPORTED, "},
      {with([](auto& m) { m.add("llama.rope.dimension_count", std::uint32_t(32)); }),
       "llama.rope.dimension_count is 32, must be the head's size, 64 (ML_E_UNSUPPORTED, "},
      {with([](auto& m) { m.add("llama.rope.dimension_count_swa", std::uint32_t(32)); }),
       "llama.rope.dimension_count_swa is 32, must be that of the other layers, 64 (ML_E_UNSUPPORTED, "},
      {with([](auto& m) { m.add("llama.attention.key_length_swa", std::uint32_t(32)); }),
       "llama.attention.key_length_swa is 32, must be that of the other layers, 64 (ML_E_UNSUPPORTED, "},
      {with([](auto& m) { m.add("llama.rope.scaling.type", "longrope"); }),
       "llama.rope.scaling.type is \"longrope\", must be none, linear or yarn (ML_E_UNSUPPORTED, "},
      {with([](auto& m) { m.add("llama.rope.scaling.type", "yarn"); }),
       "llama.rope.scaling.factor is missing, must be a number above 0 (ML_E_FORMAT)"},
      {with([](auto& m) { m.add("llama.rope.freq_base", -1.0f); }),
       "llama.rope.freq_base is -1.0, must be a number above 0"},
      {with([](auto& m) { m.drop("token_embd.weight"); }),
       "tensor is missing (ML_E_FORMAT, tensor token_embd.weight)"},
      {with([](auto& m) { m.drop("blk.0.attn_q.weight"), m.drop("blk.0.ffn_up.weight"); }),
       "the metadata implies 2 tensors (blk.0.attn_q.weight, blk.0.ffn_up.weight) that the file lacks "
       "(ML_E_FORMAT)"},
      {with([](auto& m) { m.tensor("blk.0.attn_r.weight", {4}), m.tensor("x", {4}); }),
       "the file holds 2 tensors (blk.0.attn_r.weight, x) that a llama model with this metadata has not "
       "(ML_E_FORMAT)"},
      {with([](auto& m) {
         m.tensor("blk.1.attn_q.weight", {256, 256});
       }),
       "the file holds 1 tensor (blk.1.attn_q.weight) that a llama model with this metadata has not"},
      {with([](auto& m) {
         m.at("blk.0.attn_k.weight").dims = {256, 256};
       }),
       "shape is [256, 256], the metadata implies [256, 128] (ML_E_SHAPE, tensor blk.0.attn_k.weight)"},
      {with([](auto& m) {
         m.at("blk.0.attn_norm.weight").dims = {32, 8};
       }),
       "shape is [32, 8], the metadata implies [256] (ML_E_SHAPE, tensor blk.0.attn_norm.weight)"},
      {with([](auto& m) { m.at("blk.0.attn_norm.weight").type = kQ8_0; }),
       "type is Q8_0, must be F32, F16 or BF16 (ML_E_UNSUPPORTED, tensor blk.0.attn_norm.weight)"},
      {with([](auto& m) { m.at("blk.0.ffn_down.weight").type = kQ2_K; }),
       "type is Q2_K, weights must be F32, F16, BF16, Q8_0 or Q4_0 (ML_E_UNSUPPORTED, tensor "
       "blk.0.ffn_down.weight)"},
      {with([](auto& m) { m.at("blk.0.ffn_down.weight").type = kQ6_K; }),
       "type is Q6_K, weights must be F32, F16, BF16, Q8_0 or Q4_0 (mlb-quant --requantize converts it) "
       "(ML_E_UNSUPPORTED, tensor blk.0.ffn_down.weight)"},
      {with([](auto& m) { m.tensor("rope_factors_long.weight", {32}); }),
       "long and short frequency factors (longrope) cannot be read (ML_E_UNSUPPORTED, tensor "
       "rope_factors_long.weight)"},
      {with([](auto& m) { m.tensor("rope_freqs.weight", {2}); }),
       "holds 2 frequency factors, must hold 32: half of the 64 dimensions of a head that rotate "
       "(ML_E_SHAPE, "
       "tensor rope_freqs.weight)"},
      {with([](auto& m) { m.tensor("rope_freqs.weight", {64}); }),
       "holds 64 frequency factors, must hold 32: half of the 64 dimensions"},
      {with([](auto& m) { m.tensor("rope_freqs.weight", {32}); }),  // all 0
       "frequency factors are not those of llama3 scaling with any known parameters (ML_E_UNSUPPORTED, "
       "tensor "
       "rope_freqs.weight)"},
      {with([](auto& m) {
         m.add("split.count", std::uint32_t(2));
         m.add("split.no", std::uint32_t(0));
       }),
       "file is split 1 of 2, so its name must end in -00001-of-00002.gguf (ML_E_FORMAT)"},
      {with([](auto& m) {
         m.add("split.count", std::uint32_t(2));
         m.add("split.no", std::uint32_t(2));
       }),
       "split.no is 2 and split.count 2, must be below it and it at most 99999 (ML_E_FORMAT)"},
      {with([](auto& m) { m.add("split.count", "2"); }),
       "split.count must be a whole number of 0 or more (ML_E_FORMAT, offset "},
      {with([](auto& m) { m.add("split.tensors.count", std::uint32_t(12)); }),
       "split.tensors.count is 12, the files hold 11 (ML_E_FORMAT)"},
  };
  for (const auto& [bytes, message] : table) {
    INFO(message);
    CHECK(open_error(bytes).substr(0, message.size()) == message);
  }
  CHECK(open_error(with([](auto& m) { m.at("blk.0.ffn_down.weight").type = kQ6_K; }), {.decode = true}) ==
        "");
}

TEST_CASE("layers of a GGUF file that predict further tokens stop nothing", "[formats]") {
  const auto add_layer = [](TinyModel& m, std::uint32_t n_predicting) {
    m.set("llama.block_count", B::type(GgufType::u32) + B::le<std::uint32_t>(2));
    m.add("llama.nextn_predict_layers", n_predicting);
    m.tensor("blk.1.attn_norm.weight", {256});
    m.tensor("blk.1.attn_q.weight", {256, 64});                    // of any shape
    m.tensor("blk.1.ffn_down_exps.weight", {256, 256, 2}, kQ2_K);  // and of a type that is not read
    m.tensor("blk.1.nextn.eh_proj.weight", {512, 256});
    m.tensor("blk.1.nextn.shared_head_norm.weight", {256});
  };
  TinyModel plain;
  TinyModel more;
  add_layer(more, 1);
  const TempFolder folder;
  folder.write("plain.gguf", plain.bytes());
  folder.write("more.gguf", more.bytes());
  const auto without = Model::open(folder.file("plain.gguf"));
  const auto longer = Model::open(folder.file("more.gguf"));
  REQUIRE(without);
  if (!longer) FAIL(describe(longer.error()));
  CHECK(longer->desc().n_layers() == 1);
  REQUIRE(longer->tensors().size() == without->tensors().size());
  for (std::size_t i = 0; i < longer->tensors().size(); ++i)
    CHECK(longer->tensors()[i].name == without->tensors()[i].name);
  const auto before = plan_quantize(*without, {});
  const auto plan = plan_quantize(*longer, {});
  REQUIRE(before);
  REQUIRE(plan);
  CHECK(plan->n_bytes == before->n_bytes);
  const auto report = inspect(folder.file("more.gguf"), {.check = true});
  REQUIRE(report);
  CHECK(report->defects.empty());

  const auto refused = [&](std::uint32_t n_predicting) {
    return open_error(with([&](TinyModel& m) { add_layer(m, n_predicting); }));
  };
  CHECK(refused(0).starts_with("shape is [256, 64], the metadata implies [256, 256]"));
  CHECK(refused(2).starts_with("llama.block_count is 2, must be above nextn_predict_layers (ML_E_SHAPE"));
}

TEST_CASE("heads of a GGUF model rotate as a whole, but where the family reads how much of them does",
          "[formats]") {
  for (const char* const arch : {"llama", "smollm3", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3"}) {
    INFO(arch);
    const std::string key = std::string(arch) + ".rope.dimension_count";
    const auto rotating = [&](std::uint32_t n) {
      TinyModel model = of_architecture(arch);
      model.add(key, n);
      return open_error(model.bytes());
    };
    const std::string refusal = key + " is 32, must be the head's size, 64 (ML_E_UNSUPPORTED, offset ";
    CHECK(rotating(64).find("rope") == std::string::npos);
    CHECK(rotating(32).starts_with(refusal) == (std::string(arch) != "phi3"));
    if (std::string(arch) != "phi3") continue;
    for (const std::uint32_t n : {0u, 33u, 66u}) {
      CHECK(rotating(n).starts_with(fmt::format(
          "{} is {}, must be even, above 0 and at most the head's size, 64 (ML_E_SHAPE, offset ", key, n)));
    }
  }
}

TEST_CASE("arrays of a GGUF file say which layers have a window", "[formats]") {
  // One layer; Gemma 2 and 3 read the tensors of post norms.
  const auto model = [](const std::string& arch, const std::function<void(TinyModel&)>& change) {
    TinyModel m = of_architecture(arch);
    m.tensor("blk.0.post_attention_norm.weight", {256});
    m.tensor("blk.0.post_ffw_norm.weight", {256});
    if (arch == "gemma3") m.tensor("blk.0.attn_q_norm.weight", {64});
    if (arch == "gemma3") m.tensor("blk.0.attn_k_norm.weight", {64});
    change(m);
    return m.bytes();
  };
  const auto windowed = [](const std::string& bytes) {
    const TempFolder folder;
    folder.write("m.gguf", bytes);
    const auto opened = Model::open(folder.file("m.gguf"));
    if (!opened) FAIL(describe(opened.error()));
    return opened->desc().layers[0].windowed;
  };
  const std::string key = "gemma2.attention.sliding_window_pattern";
  CHECK(windowed(model("gemma2", [](auto&) {})));
  for (const bool flag : {false, true}) {
    CHECK(windowed(model("gemma2", [&](auto& m) {
            m.add_numbers(key, GgufType::boolean, std::vector<char>{flag ? '\1' : '\0'});
          })) == flag);
    CHECK(windowed(model("gemma2", [&](auto& m) {
            m.add_numbers(key, GgufType::u32, std::vector<std::uint32_t>{flag});
          })) == flag);
  }
  CHECK_FALSE(windowed(model("gemma3", [](auto&) {})));  // no window at all
  CHECK(windowed(model("gemma3", [](auto& m) { m.add("gemma3.attention.sliding_window", 512u); })));
  const auto refused = [&](const std::function<void(TinyModel&)>& change) {
    return open_error(model("gemma2", change));
  };
  CHECK(refused([&](auto& m) {
          m.add(key, std::vector<std::string>{"yes"});
        }).starts_with(key + " is an array of 1 string, must be a whole number of 0 or more"));
  CHECK(refused([&](auto& m) {
          m.add_numbers(key, GgufType::f32, std::vector<float>{0.5f});
        }).starts_with(key + " is an array of 1 f32, must be an array of bools or a number"));
  CHECK(refused([&](auto& m) {
          m.add_numbers(key, GgufType::u32, std::vector<std::uint32_t>{1, 1});
        }).starts_with(key + " is an array of 2 u32, must be an array of 1 elements"));
  CHECK(
      refused([](auto& m) {
        m.set("gemma2.block_count", B::type(GgufType::u32) + B::le<std::uint32_t>(70000));
      }).starts_with("gemma2.block_count is 70000, must be an integer from 1 to 65536 (ML_E_SHAPE, offset "));
  const auto recurrent = [&](const std::function<void(TinyModel&)>& change) {
    return open_error(model("qwen35", change));
  };
  CHECK(recurrent([](auto& m) {
          m.add("qwen35.attention.recurrent_layers", 1u);
        }).starts_with("qwen35.attention.recurrent_layers is 1, must be an array of bools"));
  CHECK(recurrent([](auto& m) {
          m.add_numbers("qwen35.attention.recurrent_layers", GgufType::u32, std::vector<std::uint32_t>{1});
        }).starts_with("qwen35.attention.recurrent_layers is an array of 1 u32, must be an array of bools"));
  CHECK(recurrent([](auto& m) {
          m.add_numbers("qwen35.attention.recurrent_layers", GgufType::boolean, std::vector<char>{1});
          m.add("qwen35.ssm.time_step_rank", 3u);
          m.add("qwen35.ssm.inner_size", 256u);
        }).starts_with("qwen35.ssm.time_step_rank is 3, must be a divisor of ssm.inner_size, 256"));
}

TEST_CASE("splits of a GGUF model must all be there and belong together", "[formats]") {
  const TempFolder folder;
  const auto write = [&](const std::string& name, TinyModel model, std::uint32_t number) {
    model.add("split.count", std::uint32_t(2));
    model.add("split.no", number);
    folder.write(name, model.bytes());
  };
  const std::string first = folder.file("m-00001-of-00002.gguf");
  write("m-00001-of-00002.gguf", TinyModel(), 0);
  CHECK(Model::open(first).error().status == Status::io);
  CHECK(Model::open(first).error().path == folder.file("m-00002-of-00002.gguf"));
  write("m-00002-of-00002.gguf", TinyModel(), 0);
  CHECK(Model::open(first).error().message ==
        "split.no and split.count must be 1 and 2 as the file's name says");
  write("m-00002-of-00002.gguf", TinyModel(), 1);
  CHECK(Model::open(first).error().message == "tensor is also in " + first);
}

TEST_CASE("a Q8_0 quant of -128 in a GGUF file is refused by tensor, row and block", "[formats]") {
  TinyModel model;
  model.at("blk.0.ffn_down.weight").type = kQ8_0;
  model.bytes();
  const std::uint64_t at = model.at("blk.0.ffn_down.weight").offset;
  model.data[at + (3 * 8 + 5) * 34 + 2 + 7] = '\x80';
  CHECK(open_error(model.file()) ==
        "row 3, block 5 holds a quant of -128 (ML_E_FORMAT, tensor blk.0.ffn_down.weight)");
}

TEST_CASE("a check of a GGUF model reads all its weights, whatever it found", "[formats]") {
  const TempFolder folder;
  const auto check = [&](const std::string& bytes) {
    folder.write("m.gguf", bytes);
    const auto report = inspect(folder.file("m.gguf"), {.check = true});
    REQUIRE(report);
    std::vector<std::string> found;
    for (const Error& defect : report->defects) {
      CHECK(defect.path == folder.file("m.gguf"));
      found.push_back(defect.tensor + ": " + defect.message);
    }
    return found;
  };
  const auto damaged = [](TinyModel model) {
    for (const char* name : {"blk.0.ffn_down.weight", "blk.0.ffn_gate.weight"}) model.at(name).type = kQ8_0;
    model.bytes();
    model.data[model.at("blk.0.ffn_gate.weight").offset + 2] = '\x80';
    model.data[model.at("blk.0.ffn_down.weight").offset + 34 + 2] = '\x80';
    model.data.replace(model.at("output_norm.weight").offset + 4, 4, B::le(HUGE_VALF));
    return model;
  };
  const std::vector<std::string> weights{"output_norm.weight: row 0, column 1 is not finite",
                                         "blk.0.ffn_gate.weight: row 0, block 0 holds a quant of -128",
                                         "blk.0.ffn_down.weight: row 0, block 1 holds a quant of -128"};
  CHECK(check(damaged(TinyModel()).file()) == weights);

  // Tensors of another shape, one that is missing, one too many.
  TinyModel odd;
  odd.at("blk.0.attn_q.weight").dims = {256, 128};
  odd.at("blk.0.attn_k.weight").dims = {256, 64};
  odd.drop("blk.0.attn_v.weight");
  odd.tensor("more", {32});
  const auto defects = check(damaged(odd).file());
  REQUIRE(defects.size() == 4 + 3);
  CHECK(defects[0].starts_with("blk.0.attn_q.weight: shape is [256, 128]"));
  CHECK(defects[1].starts_with("blk.0.attn_k.weight: shape is [256, 64]"));
  CHECK(defects[2].find("blk.0.attn_v.weight") != std::string::npos);
  CHECK(defects[3].find("more") != std::string::npos);
  CHECK(std::vector(defects.end() - 3, defects.end()) == weights);

  // No model at all, and a file with a defect of its own.
  TinyModel other = of_architecture("mamba");
  CHECK(check(damaged(other).file()) == weights);
  other = damaged(TinyModel());
  other.entries.push_back(other.entries.back());
  const auto twice = check(other.file());
  REQUIRE(twice.size() == 1 + 3);
  CHECK(std::vector(twice.end() - 3, twice.end()) == weights);
}

TEST_CASE("quants and scales of a GGUF file come apart without a change", "[formats]") {
  std::string blocks;
  for (int b = 0; b < 3; ++b) {
    blocks += B::le<std::uint16_t>(static_cast<std::uint16_t>(0x3c00 + b));
    for (int j = 0; j < 32; ++j) blocks += static_cast<char>(b * 32 + j - 40);
  }
  std::vector<std::byte> quants(96), scales(6);
  CHECK_FALSE(split_ggml_q8_0(as_bytes(blocks).data(), 3, quants.data(), scales.data()));
  for (std::size_t i = 0; i < 96; ++i) CHECK(static_cast<std::int8_t>(quants[i]) == static_cast<int>(i) - 40);
  CHECK(load_le<std::uint16_t>(scales.data() + 4) == 0x3c02);
  blocks[34 + 2] = '\x80';
  CHECK(split_ggml_q8_0(as_bytes(blocks).data(), 3, quants.data(), scales.data()) == 1u);
}

// The formulas of the types' definitions, element by element, in double.
TEST_CASE("ggml's other block types decode as they are defined", "[formats]") {
  std::uint32_t state = 1;
  const auto random_byte = [&state] {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::uint8_t>(state >> 24);
  };
  for (const char* name : {"Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"}) {
    INFO(name);
    const std::string type = name;
    const GgufTensorType& info = *find_gguf_tensor_type(type);
    std::vector<std::uint8_t> x(2 * info.block_bytes);
    for (std::uint8_t& byte : x) byte = random_byte();
    const auto half = [&](std::size_t at) { return double(f16_to_f32(load_le<std::uint16_t>(&x[at]))); };
    std::vector<float> out(2 * info.block_weights);
    for (std::size_t b = 0; b < 2; ++b) {  // finite scales
      const std::size_t base = b * info.block_bytes;
      for (const std::size_t at : {base + 1, base + 3, base + 209}) {
        if (at < base + info.block_bytes) x[at] = 0x2c;
      }
    }
    find_ggml_decoder(type)(reinterpret_cast<const std::byte*>(x.data()), 2, out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t base = i / info.block_weights * info.block_bytes;
      const std::size_t j = i % info.block_weights;
      const auto nibble = [&](std::size_t at, bool high) { return high ? x[at] >> 4 : x[at] & 15; };
      double want = 0;
      if (type == "Q4_1") {
        want = nibble(base + 4 + j % 16, j >= 16) * half(base) + half(base + 2);
      } else if (type == "Q5_0") {
        const int fifth = x[base + 2 + j / 8] >> (j % 8) & 1;
        want = (nibble(base + 6 + j % 16, j >= 16) + 16 * fifth - 16) * half(base);
      } else if (type == "Q5_1") {
        const int fifth = x[base + 4 + j / 8] >> (j % 8) & 1;
        want = (nibble(base + 8 + j % 16, j >= 16) + 16 * fifth) * half(base) + half(base + 2);
      } else if (type == "Q6_K") {
        const std::size_t h = j / 128, k = j % 128;
        const int low = nibble(base + h * 64 + k % 64, k >= 64);
        const int high = x[base + 128 + h * 32 + k % 32] >> (k / 32 * 2) & 3;
        want = half(base + 208) * static_cast<std::int8_t>(x[base + 192 + j / 16]) * (low + 16 * high - 32);
      } else {
        const std::size_t g = j / 32, packed = base + 4;
        const int scale =
            g < 4 ? x[packed + g] & 63 : (x[packed + g + 4] & 15) | (x[packed + g - 4] >> 6) << 4;
        const int min = g < 4 ? x[packed + g + 4] & 63 : (x[packed + g + 4] >> 4) | (x[packed + g] >> 6) << 4;
        const std::size_t nibbles = base + 16 + (type == "Q5_K" ? 32 : 0);
        int q = nibble(nibbles + j / 64 * 32 + j % 32, g % 2 == 1);
        if (type == "Q5_K") q += (x[base + 16 + j % 32] >> g & 1) * 16;
        want = half(base) * scale * q - half(base + 2) * min;
      }
      CHECK(std::fabs(double(out[i]) - want) <= 1e-5 * (1 + std::fabs(want)));
    }
  }
  CHECK(find_ggml_decoder("IQ2_XS") == nullptr);
}

TEST_CASE("the parameters of llama3 scaling are found by its factors", "[formats]") {
  const auto factors = [](std::size_t n, double theta, double factor, double low, double high, double orig) {
    std::vector<float> list;
    for (std::size_t i = 0; i < n; ++i) {
      const double wavelength = 2 * std::numbers::pi * std::pow(theta, double(i) / double(n));
      const double smooth = std::clamp((orig / wavelength - low) / (high - low), 0.0, 1.0);
      list.push_back(static_cast<float>(1 / ((1 - smooth) / factor + smooth)));
    }
    return list;
  };
  for (const double factor : {8.0, 32.0, 2.5}) {
    for (const double orig : {8192.0, 4096.0}) {
      const auto found = match_rope_factors(factors(64, 5e5, factor, 1, 4, orig), 5e5, 0);
      REQUIRE(found);
      CHECK((*found)["factor"] == factor);
      CHECK((*found)["low_freq_factor"] == 1.0);
      CHECK((*found)["high_freq_factor"] == 4.0);
      CHECK((*found)["original_max_position_embeddings"] == orig);
    }
  }
  CHECK((*match_rope_factors(factors(64, 5e5, 8, 1, 4, 5000), 5e5,
                             5000))["original_max_position_embeddings"] == 5000);
  CHECK(match_rope_factors(std::vector<float>(64, 1.0f), 5e5, 0)->is_null());
  CHECK_FALSE(match_rope_factors(std::vector<float>{1, 1.5f, 3}, 5e5, 0));
  CHECK_FALSE(match_rope_factors(std::vector<float>{1, NAN, 8}, 5e5, 0));
}

TEST_CASE("a mixed GGUF model is kept by the classes of a .mlb, or the tensor is named", "[formats]") {
  const auto plan = [](const std::function<void(TinyModel&)>& change, bool keep) {
    const TempFolder folder;
    folder.write("m.gguf", with([&](TinyModel& m) {
                   for (auto& tensor : m.tensors) {
                     if (tensor.dims.size() == 2) tensor.type = kQ4_0;
                   }
                   change(m);
                 }));
    const auto model = Model::open(folder.file("m.gguf"), {.decode = !keep});
    REQUIRE(model);
    const auto kept = kept_storage(*model);
    REQUIRE(kept);
    CHECK(kept->type == Encoding::q4_0);
    CHECK(kept->scales == ScaleType::f16);
    const auto report = plan_quantize(
        *model, {.type = kept->type, .scales = kept->scales, .q8_mask = kept->q8_mask, .keep = keep});
    return report ? std::to_string(kept->q8_mask) : describe(report.error());
  };
  CHECK(plan([](TinyModel&) {}, true) == "0");
  CHECK(plan([](TinyModel& m) { m.at("token_embd.weight").type = kQ8_0; }, true) == "1");
  CHECK(plan([](TinyModel& m) { m.at("blk.0.attn_v.weight").type = kQ8_0; }, true) == "8");
  CHECK(plan([](TinyModel& m) { m.tensor("output.weight", {256, 8}, kQ6_K); }, false) == "2");
  CHECK(plan([](TinyModel& m) { m.at("blk.0.attn_q.weight").type = kQ8_0; }, true) ==
        "is q4_0 and would become q8_0 (ML_E_UNSUPPORTED, tensor blk.0.attn_k.weight)");
  CHECK(plan([](TinyModel& m) { m.at("blk.0.attn_q.weight").type = kQ8_0; }, false) == "4");
}

TEST_CASE("looking into a GGUF file lists keys, abbreviates arrays and decodes what it can", "[formats]") {
  TinyModel model;
  model.add("list", std::vector<std::string>{"a", "b", "c", "d", "e"});
  model.at("blk.0.ffn_down.weight").type = kQ6_K;
  model.at("blk.0.ffn_up.weight").type = kQ2_K;
  model.at("blk.0.ffn_gate.weight").type = kQ8_0;
  const TempFolder folder;
  folder.write("m.gguf", model.bytes());
  CHECK(file_format(folder.file("m.gguf")) == "gguf");
  const auto report = inspect(folder.file("m.gguf"));
  REQUIRE(report);
  CHECK(report->format == "gguf");
  CHECK(report->title == "GGUF file, version 3, llama architecture");
  CHECK(report->desc);
  const InfoField& list = report->fields.back();
  CHECK(list.name == "list");
  CHECK(std::get<std::string>(list.value) == "[\"a\", \"b\", \"c\", \"d\", ...] 5 x string");
  CHECK(list.meaning == "array of string");
  for (const InfoArray& array : report->arrays) {
    INFO(array.name);
    CHECK(array.n_weights() == (array.shape.size() == 1 ? 256 : array.shape[0] * array.shape[1]));
    const auto weights = load_weights(array);
    if (array.encoding == "q2_k") {
      CHECK(describe(weights.error()) ==
            "weights of type q2_k cannot be decoded (ML_E_UNSUPPORTED, tensor blk.0.ffn_up.weight)");
    } else {
      REQUIRE(weights);
      CHECK(weights->view.n_weights() == array.n_weights());
    }
  }
  const auto checked = inspect(folder.file("m.gguf"), {.check = true});
  REQUIRE(checked);
  REQUIRE(checked->defects.size() == 1);
  CHECK(checked->defects[0].tensor == "blk.0.ffn_up.weight");

  TinyModel vocabulary;
  vocabulary.tensors.clear();
  folder.write("v.gguf", vocabulary.file());
  CHECK(inspect(folder.file("v.gguf"))->note == "holds no tensors");

  // Numbers below zero and of 64 bits, weights that are not finite, a model that does not fit its metadata.
  model = TinyModel();
  model.entries.emplace_back("below", B::type(GgufType::i32) + B::le(std::int32_t(-7)));
  model.entries.emplace_back("wide", B::type(GgufType::f64) + B::le(0.25));
  std::string bytes = model.bytes();
  const float infinity = HUGE_VALF;
  bytes.replace(bytes.size() - 4, 4, B::le(infinity));  // the last weight of ffn_down
  folder.write("n.gguf", bytes);
  const auto odd = inspect(folder.file("n.gguf"), {.check = true});
  REQUIRE(odd);
  CHECK(std::get<std::int64_t>(odd->fields[odd->fields.size() - 2].value) == -7);
  CHECK(std::get<double>(odd->fields.back().value) == 0.25);
  REQUIRE(odd->defects.size() == 1);
  CHECK(odd->defects[0].message == "row 255, column 255 is not finite");
  CHECK(odd->defects[0].tensor == "blk.0.ffn_down.weight");
  model = TinyModel();
  model.erase("llama.block_count");
  folder.write("k.gguf", model.bytes());
  const auto lacking = inspect(folder.file("k.gguf"));
  REQUIRE_FALSE(lacking);
  CHECK(lacking.error().message == "llama.block_count is missing, must be a number");
  const auto checked_lacking = inspect(folder.file("k.gguf"), {.check = true});
  REQUIRE(checked_lacking);
  CHECK(checked_lacking->defects.front().message == lacking.error().message);
}
