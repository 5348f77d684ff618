#include <ml/probe.hpp>
#include <ml/target.hpp>

#include "probe/timing.hpp"

#include <algorithm>
#include <atomic>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ml {

namespace {

constexpr std::uint64_t kRounds = 1u << 22;
std::atomic<std::int64_t> sink{0};

#if defined(__x86_64__)

// Twelve sums side by side hide the latency of the instructions.
constexpr int kSums = 12;

// Operations of one call.
constexpr double kAvx512Operations = 2.0 * 64 * kSums * kRounds;
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void multiply_avx512() {
  const __m512i a = _mm512_set1_epi8(3);
  const __m512i b = _mm512_set1_epi8(5);
  __m512i sums[kSums];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (std::uint64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm512_dpbusd_epi32(sums[k], a, b);
  }
  std::int64_t total = 0;
  for (const __m512i& sum : sums) {
    alignas(64) std::int32_t lanes[16];
    _mm512_store_si512(lanes, sum);
    total += lanes[0];
  }
  sink += total;
}

constexpr double kAvx2Operations = 2.0 * 32 * kSums * kRounds;
__attribute__((target("avx2"))) void multiply_avx2() {
  __m256i a = _mm256_set1_epi8(3);
  const __m256i b = _mm256_set1_epi8(5);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[kSums];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (std::uint64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) {
      asm volatile("" : "+x"(a));  // or the products of constants would be formed once
      sums[k] = _mm256_add_epi32(sums[k], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  }
  std::int64_t total = 0;
  for (const __m256i& sum : sums) {
    alignas(32) std::int32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
    total += lanes[0];
  }
  sink += total;
}

#endif

}  // namespace

double int8_operations_per_second(unsigned n_threads, Target target) {
  [[maybe_unused]] const auto name = target_name(target);
#if defined(__x86_64__)
  constexpr int kRuns = 5;
  n_threads = std::min(n_threads, available_threads());  // more take turns
  if (name == "avx512") {
    return n_threads * kAvx512Operations /
           median_seconds(n_threads, kRuns, [](unsigned) { multiply_avx512(); });
  }
  if (name == "avx2") {
    return n_threads * kAvx2Operations / median_seconds(n_threads, kRuns, [](unsigned) { multiply_avx2(); });
  }
#endif
  (void)n_threads;
  return 0;
}

}  // namespace ml
