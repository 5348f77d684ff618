#include <ml/probe.hpp>
#include <ml/target.hpp>

#include "probe/timing.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>

namespace ml {

namespace {

constexpr std::uint64_t kWords = (256ull << 20) / 8;
constexpr std::align_val_t kHugePage{std::size_t(1) << 21};
constexpr std::size_t kStreams = 8;  // sums side by side, so that additions do not wait for each other

// Where the sums go, so that the compiler cannot leave the reading out.
std::atomic<std::uint64_t> sink{0};

void read_words(const std::uint64_t* words, std::uint64_t n) {
  std::uint64_t sums[kStreams] = {};
  for (std::uint64_t i = 0; i + kStreams <= n; i += kStreams) {
    for (std::size_t k = 0; k < kStreams; ++k) sums[k] += words[i + k];
  }
  for (const std::uint64_t sum : sums) sink += sum;
}

}  // namespace

// In huge pages, from which more can be read than from others: the limit of models that lie in either.
ReadProbe::ReadProbe()
    : words_(static_cast<std::uint64_t*>(::operator new(kWords * sizeof(std::uint64_t), kHugePage))) {
#ifdef MADV_HUGEPAGE
  ::madvise(words_, kWords * sizeof(std::uint64_t), MADV_HUGEPAGE);
#endif
  std::fill_n(words_, kWords, 1u);
}
ReadProbe::~ReadProbe() { ::operator delete(words_, kHugePage); }

double ReadProbe::bytes_per_second(unsigned n_threads) const {
  n_threads = std::min(n_threads, available_threads());  // more take turns
  const std::uint64_t share = kWords / n_threads;
  const double seconds =
      median_seconds(n_threads, 5, [&](unsigned thread) { read_words(words_ + thread * share, share); });
  return static_cast<double>(share * n_threads * sizeof(std::uint64_t)) / seconds;
}

}  // namespace ml
