// Prefill and decode speed of random-weight models that it makes itself, beside this machine's read
// bandwidth.

#include <ml/model.hpp>
#include <ml/session.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Spec {
  const char* name;
  std::uint32_t dim, n_layers, n_heads, n_kv_heads, hidden_dim;
  bool shared_classifier;
};
constexpr Spec kSpecs[] = {
    {"110M", 768, 12, 12, 12, 2048, true},
    {"1B", 2048, 16, 32, 8, 8192, false},
};
constexpr std::uint32_t kVocab = 32000;
constexpr std::uint32_t kPrompt = 512;
constexpr std::uint32_t kDecode = 32;

struct XorShift {
  std::uint64_t state = 88172645463325252u;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

using Bytes = std::vector<std::byte>;

// Random quants, never -128, which Q8_0 forbids.
std::shared_ptr<Bytes> random_quants(XorShift& random, std::uint64_t n) {
  auto bytes = std::make_shared<Bytes>(n);
  for (std::uint64_t i = 0; i + 8 <= n; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes->data() + i, &word, 8);
  }
  for (std::byte& byte : *bytes) {
    if (byte == std::byte{0x80}) byte = std::byte{0x81};
  }
  return bytes;
}

template <class T>
std::shared_ptr<Bytes> repeated(T value, std::uint64_t n) {
  auto bytes = std::make_shared<Bytes>(n * sizeof(T));
  for (std::uint64_t i = 0; i < n; ++i) std::memcpy(bytes->data() + i * sizeof(T), &value, sizeof(T));
  return bytes;
}

ml::Model make_model(const Spec& spec, ml::Encoding encoding) {
  ml::ModelDesc desc{.dim = spec.dim,
                     .n_heads = spec.n_heads,
                     .n_kv_heads = spec.n_kv_heads,
                     .head_dim = spec.dim / spec.n_heads,
                     .hidden_dim = spec.hidden_dim,
                     .vocab = kVocab,
                     .max_seq = 4096,
                     .norm_eps = 1e-5f,
                     .shared_classifier = spec.shared_classifier};
  desc.rope.rot_dim = desc.head_dim;
  desc.layers.resize(spec.n_layers);
  XorShift random;
  std::vector<ml::Tensor> tensors;
  std::vector<ml::Model::Storage> storage;
  const auto add = [&](ml::Role role, std::uint32_t layer) {
    const ml::Shape shape = ml::role_shape(desc, role);
    ml::TensorView view{.rows = shape.rows, .cols = shape.cols};
    if (ml::is_matrix(role)) {
      view.encoding = encoding;
      view.scale_type = ml::ScaleType::f16;
      const auto quants = random_quants(random, view.rows * view.row_bytes());
      const auto scales = repeated(std::uint16_t{0x1000}, view.n_weights() / ml::kBlock);  // 2^-11
      view.data = *quants;
      view.scales = *scales;
      storage.insert(storage.end(), {quants, scales});
    } else {
      const auto ones = repeated(1.0f, view.cols);
      view.data = *ones;
      storage.push_back(ones);
    }
    tensors.push_back({.role = role, .layer = layer, .name = ml::tensor_name(role, layer), .view = view});
  };
  add(ml::Role::tok_emb, ml::kNoLayer);
  for (std::uint32_t layer = 0; layer < spec.n_layers; ++layer) {
    for (const ml::Role role : ml::layer_roles(desc, desc.layers[layer])) add(role, layer);
  }
  add(ml::Role::final_norm, ml::kNoLayer);
  if (!spec.shared_classifier) add(ml::Role::wcls, ml::kNoLayer);
  auto model = ml::Model::assemble(std::move(desc), std::move(tensors), std::move(storage));
  if (!model) {
    fmt::print(stderr, "{}\n", ml::describe(model.error()));
    std::exit(1);
  }
  return std::move(*model);
}

double seconds(const std::function<void()>& job) {
  const auto start = std::chrono::steady_clock::now();
  job();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Bytes a second of a sequential read, over all threads.
double read_bandwidth(unsigned n_threads) {
  const std::uint64_t n_words = (256ull << 20) / 8;
  static const std::vector<std::uint64_t> memory(n_words, 1);
  std::vector<double> times;
  std::uint64_t sink = 0;
  for (int run = 0; run < 5; ++run) {
    times.push_back(seconds([&] {
      std::vector<std::thread> threads;
      std::vector<std::uint64_t> sums(n_threads);
      for (unsigned t = 0; t < n_threads; ++t) {
        threads.emplace_back([&, t] {
          const std::uint64_t* begin = memory.data() + n_words / n_threads * t;
          sums[t] = std::accumulate(begin, begin + n_words / n_threads, std::uint64_t{0});
        });
      }
      for (std::thread& thread : threads) thread.join();
      sink += std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }));
  }
  return sink == 0 ? 0 : static_cast<double>(n_words) * 8 / median(times);
}

void bench(const Spec& spec, const ml::Model& model, ml::Encoding encoding, unsigned n_threads, int runs) {
  auto session = ml::Session::create(model, {.ctx = kPrompt + kDecode, .threads = n_threads});
  if (!session) {
    fmt::print(stderr, "{}\n", ml::describe(session.error()));
    std::exit(1);
  }
  std::vector<std::uint32_t> prompt(kPrompt);
  for (std::uint32_t i = 0; i < kPrompt; ++i) prompt[i] = i * 7919 % kVocab;
  std::vector<double> prefill;
  std::vector<double> decode;
  for (int run = 0; run <= runs; ++run) {  // the first is the warm-up
    session->reset();
    const double prompt_time = seconds([&] { (void)session->eval(prompt); });
    const double decode_time = seconds([&] {
      for (std::uint32_t i = 0; i < kDecode; ++i) (void)session->eval({&prompt[i], 1});
    });
    if (run == 0) continue;
    prefill.push_back(kPrompt / prompt_time);
    decode.push_back(kDecode / decode_time);
  }
  // Decoding reads every weight once, but only a row of an embedding that is not the classifier too.
  std::uint64_t read = model.n_bytes();
  if (!spec.shared_classifier) read -= model.find(ml::Role::tok_emb)->view.n_bytes();
  const double rate = median(decode);
  const double bandwidth = read_bandwidth(n_threads);
  fmt::print("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.0f} % |\n", spec.name,
             ml::encoding_info(encoding).name, model.n_bytes() >> 20, n_threads, median(prefill), rate,
             static_cast<double>(read) * rate / 1e9, 100 * static_cast<double>(read) * rate / bandwidth);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 3;
  fmt::print("target {}, medians of {} runs\n\n", ml::target_name(ml::Target::best), runs);
  fmt::print(
      "| model | encoding | MiB | threads | prefill {} tok/s | decode tok/s | GB/s | of read bandwidth |\n",
      kPrompt);
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  for (const Spec& spec : kSpecs) {
    for (const ml::Encoding encoding : {ml::Encoding::q8_0, ml::Encoding::q4_0}) {
      const ml::Model model = make_model(spec, encoding);
      for (unsigned n_threads = 1; n_threads <= std::min(2u, ml::available_threads()); ++n_threads) {
        bench(spec, model, encoding, n_threads, runs);
      }
    }
  }
}
