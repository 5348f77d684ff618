#pragma once

#include <ml/export.hpp>
#include <ml/target.hpp>

#include <cstdint>
#include <string>

namespace ml {

/// What this machine is, as results of measurements name it.
struct Machine {
  std::string cpu;     ///< "AMD EPYC 9B14", or "unknown"
  unsigned cores = 1;  ///< that this process may run on
  std::uint64_t memory_bytes = 0;
  std::string system;  ///< "Linux 6.1.0 x86_64"
};
ML_API Machine describe_machine();

/// Measures a sequential read of memory far larger than any cache, over some threads.
///
/// @return bytes a second; the median of five passes
/// @cost   256 MB of memory, about half a second; the memory goes when the object does
class ML_API ReadProbe {
 public:
  ReadProbe();
  ~ReadProbe();
  ReadProbe(const ReadProbe&) = delete;
  ReadProbe& operator=(const ReadProbe&) = delete;
  double bytes_per_second(unsigned n_threads) const;

 private:
  std::uint64_t* words_;
};

/// Measures the peak of multiplying 8-bit integers and adding the products, with the widest instructions of a
/// target, over some threads.
///
/// @return operations a second, two a product; 0 where the target has no such instructions
/// @cost   about 50 ms
ML_API double int8_operations_per_second(unsigned n_threads, Target target);

/// The most memory that this process has held since reset_peak_memory(), or since its start where the system
/// cannot forget.
ML_API std::uint64_t peak_memory_bytes();
ML_API void reset_peak_memory();

}  // namespace ml
