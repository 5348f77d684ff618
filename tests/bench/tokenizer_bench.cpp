// Encoding and decoding speed of tokenizers on one thread, in processor time: tokenizer_bench TOKENIZER... --
// TEXT Without arguments: the tokenizers of tests/data on a text of their own. tokenizer_peers.py shows it
// beside others.

#include "data.hpp"

#include <ml/tokenizer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

namespace {

constexpr int kRounds = 5;

double now() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds(const auto& work) {
  const double start = now();
  work();
  return now() - start;
}

double best_seconds(const auto& work) {
  double best = seconds(work);
  for (int round = 1; round < kRounds; ++round) best = std::min(best, seconds(work));
  return best;
}

int bench(const std::string& path, const std::string& text) {
  const auto tokenizer = ml::Tokenizer::open(path);
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", ml::describe(tokenizer.error()));
    return 1;
  }
  const double open = best_seconds([&] { (void)ml::Tokenizer::open(path); });
  std::vector<std::uint32_t> ids;
  const auto encode = [&] {
    ids.clear();
    tokenizer->encode_to(ids, text);
  };
  const double cold = seconds(encode);
  const double warm = best_seconds(encode);
  const double decode = best_seconds([&] { (void)tokenizer->decode(ids); });
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  fmt::print("{:8.1f} {:8.1f} {:8.1f} {:8.1f} {:10}  {}\n", open * 1e3, megabytes / cold, megabytes / warm,
             megabytes / decode, ids.size(), path);
  return 0;
}

// Prose, code and numbers from the test data, repeated to a few megabytes.
std::string own_text() {
  const std::string part = read_file(data_path("README.md")) +
                           read_file(data_path("tokenizers/l3_bos/tokenizer.json")).substr(0, 4000);
  std::string text;
  while (text.size() < 4000000) text += part;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  std::string text;
  const auto separator = std::find(paths.begin(), paths.end(), "--");
  if (separator != paths.end() && separator + 1 != paths.end()) {
    text = read_file(separator[1]);
    paths.erase(separator, paths.end());
  } else {
    text = corpus_path("texts/bench_text.txt").empty() ? own_text()
                                                       : read_file(corpus_path("texts/bench_text.txt"));
  }
  if (paths.empty()) {
    for (const char* name : {"gpt2", "smollm", "minimind", "l3_nfc", "sp_legacy"}) {
      paths.push_back(data_path(std::string("tokenizers/") + name));
    }
    for (const char* name : {"llama3", "qwen3", "llama2", "gemma3"}) {
      const std::string path = corpus_path(std::string("tokenizers/real/") + name);
      if (!path.empty()) paths.push_back(path);
    }
  }
  fmt::print("{:>8} {:>8} {:>8} {:>8} {:>10}  (ms; MB/s; tokens)\n", "open", "cold", "warm", "decode",
             "tokens");
  int failed = 0;
  for (const std::string& path : paths) failed |= bench(path, text);
  return failed;
}
