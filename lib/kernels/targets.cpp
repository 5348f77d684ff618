#include "kernels/targets.hpp"

#include <ml/encoding.hpp>
#include <ml/session.hpp>

#include <fmt/format.h>
#include <sched.h>
#include <strings.h>

#include <cstdlib>
#include <iterator>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ml {

namespace {

static_assert(kernels::kF32 == static_cast<int>(Encoding::f32) &&
              kernels::kF16 == static_cast<int>(Encoding::f16) &&
              kernels::kBf16 == static_cast<int>(Encoding::bf16) &&
              kernels::kQ8_0 == static_cast<int>(Encoding::q8_0) &&
              kernels::kQ4_0 == static_cast<int>(Encoding::q4_0) &&
              kernels::kEncodings == static_cast<int>(Encoding::int4r16_g128) + 1);
static_assert(kernels::kKvF32 == static_cast<int>(KvType::f32) &&
              kernels::kKvF16 == static_cast<int>(KvType::f16) &&
              kernels::kKvQ8 == static_cast<int>(KvType::q8) &&
              kernels::kKvBf16 == static_cast<int>(KvType::bf16) &&
              kernels::kKvFp8 == static_cast<int>(KvType::fp8) &&
              kernels::kKvFp4 == static_cast<int>(KvType::fp4));

struct TargetRow {
  Target target;
  std::string_view name;
  const kernels::Table* table;
  const kernels::QuantTable* quant_table;
  bool (*runs_here)();
};

bool always() { return true; }
#if defined(__x86_64__)
// What the processor says of itself, and which registers the system saves. Compilers' own
// __builtin_cpu_supports needs a library that not all have, and does not know every name.
struct CpuBits {
  unsigned basic = 0;     // leaf 1, ecx
  unsigned extended = 0;  // leaf 7, ebx
  unsigned more = 0;      // leaf 7, ecx
  unsigned latest = 0;    // leaf 7.1, eax
  unsigned saved = 0;     // XCR0

  CpuBits() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) basic = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) extended = ebx, more = ecx;
    const bool has_subleaf = eax >= 1;
    if (has_subleaf && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) latest = eax;
    if ((basic & bit_OSXSAVE) != 0) __asm__("xgetbv" : "=a"(saved), "=d"(edx) : "c"(0));
  }
};

const CpuBits& cpu_bits() {
  static const CpuBits bits;  // a virtual machine takes long to answer
  return bits;
}

bool all_of(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

bool has_avx2() {
  constexpr unsigned kXmmAndYmm = 0x6;
  const CpuBits& bits = cpu_bits();
  return all_of(bits.saved, kXmmAndYmm) && all_of(bits.basic, bit_AVX | bit_FMA | bit_F16C) &&
         all_of(bits.extended, bit_AVX2);
}
bool has_avxvnni() {
  constexpr unsigned kAvxVnni = 1u << 4;
  return has_avx2() && all_of(cpu_bits().latest, kAvxVnni);
}
bool has_avx512() {
  constexpr unsigned kMasksAndZmm = 0xe0;
  const CpuBits& bits = cpu_bits();
  return has_avx2() && all_of(bits.saved, kMasksAndZmm) &&
         all_of(bits.extended, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL) &&
         all_of(bits.more, bit_AVX512VNNI);
}
#elif defined(__aarch64__)
bool has_dotprod() { return (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
bool has_i8mm() { return has_dotprod() && (::getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0; }
#endif

// Slowest first.
constexpr TargetRow kTargets[] = {
    {Target::scalar, "scalar", &kernels::scalar_table, &kernels::scalar_quant_table, always},
#if defined(__x86_64__)
    {Target::avx2, "avx2", &kernels::avx2_table, &kernels::avx2_quant_table, has_avx2},
    {Target::avxvnni, "avxvnni", &kernels::avxvnni_table, &kernels::avx2_quant_table, has_avxvnni},
    {Target::avx512, "avx512", &kernels::avx512_table, &kernels::avx512_quant_table, has_avx512},
#elif defined(__aarch64__)
    {Target::neon, "neon", &kernels::neon_table, &kernels::neon_quant_table, always},
    {Target::dotprod, "dotprod", &kernels::dotprod_table, &kernels::neon_quant_table, has_dotprod},
    {Target::i8mm, "i8mm", &kernels::i8mm_table, &kernels::neon_quant_table, has_i8mm},
#endif
};

const TargetRow& best_row() {
  const TargetRow* best = &kTargets[0];
  for (const TargetRow& row : kTargets) {
    if (row.runs_here()) best = &row;
  }
  return *best;
}

const TargetRow& row_of(Target target) {
  for (const TargetRow& row : kTargets) {
    if (target == row.target) return row;
  }
  static const TargetRow& best = best_row();  // a virtual machine takes long to answer
  return best;
}

}  // namespace

std::vector<Target> built_targets() {
  std::vector<Target> targets;
  for (const TargetRow& row : kTargets) targets.push_back(row.target);
  return targets;
}

std::vector<Target> available_targets() {
  std::vector<Target> targets;
  for (const TargetRow& row : kTargets) {
    if (row.runs_here()) targets.push_back(row.target);
  }
  return targets;
}

std::string_view target_name(Target target) { return row_of(target).name; }

Result<Target> resolve_target(std::string_view name) {
  std::string_view source = "target";
  if (name.empty()) {
    const char* environment = std::getenv("ML_TARGET");
    if (environment == nullptr || *environment == '\0') return row_of(Target::best).target;
    name = environment;
    source = "ML_TARGET";
  }
  std::string known;
  for (const TargetRow& row : kTargets) {
    if (::strcasecmp(std::string(row.name).c_str(), std::string(name).c_str()) == 0) {
      if (row.runs_here()) return row.target;
      return Error{.status = Status::unsupported,
                   .message = fmt::format("{} {}: this CPU cannot run it", source, name)};
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return Error{.status = Status::arg,
               .message = fmt::format("{} is '{}', must be one of {}", source, name, known)};
}

unsigned available_threads() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

namespace kernels {

const Table& table_of(Target target) { return *row_of(target).table; }
const QuantTable& quant_table_of(Target target) { return *row_of(target).quant_table; }

}  // namespace kernels
}  // namespace ml
