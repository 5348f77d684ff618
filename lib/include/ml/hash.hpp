#pragma once

#include <ml/export.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace ml {

/// XXH3-128 of a stream of bytes.
class ML_API Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void update(std::span<const std::byte> bytes);
  /// @return 32 lower-case hexadecimal digits, in xxhsum's order
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ml
