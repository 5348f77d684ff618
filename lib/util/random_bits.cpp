#include "util/random_bits.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <ctime>

namespace ml {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits) return bits;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  bits = static_cast<std::uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15u;
  return bits + static_cast<std::uint64_t>(::getpid()) + reinterpret_cast<std::uintptr_t>(&now);
}

}  // namespace ml
