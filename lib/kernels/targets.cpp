#include <ml/target.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace ml {

namespace {

bool runs(Target target) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (target == Target::avx2) return avx2;
  if (target == Target::avx512) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
  }
#endif
  return target == Target::scalar;
}

constexpr Target kTargets[] = {Target::scalar, Target::avx2, Target::avx512};

}  // namespace

std::vector<Target> available_targets() {
  std::vector<Target> targets;
  std::copy_if(std::begin(kTargets), std::end(kTargets), std::back_inserter(targets), runs);
  return targets;
}

std::string_view target_name(Target target) {
  switch (target) {
    case Target::best: return target_name(available_targets().back());
    case Target::scalar: return "scalar";
    case Target::avx2: return "avx2";
    case Target::avx512: return "avx512";
  }
  return "scalar";
}

Result<Target> resolve_target(std::string_view name) {
  if (name.empty()) {
    const char* variable = std::getenv("ML_TARGET");
    if (variable == nullptr || *variable == '\0') return available_targets().back();
    name = variable;
  }
  std::string known;
  for (const Target target : kTargets) {
    if (name == target_name(target)) {
      if (runs(target)) return target;
      return Error{.status = Status::unsupported, .message = "this machine cannot run target " + std::string(name)};
    }
    known += (known.empty() ? "" : ", ") + std::string(target_name(target));
  }
  return Error{.status = Status::arg, .message = "target " + std::string(name) + " is none of " + known};
}

unsigned available_threads() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace ml
