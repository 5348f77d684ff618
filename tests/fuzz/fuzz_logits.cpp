// Any bytes as an MLL1 file whose checks are right: every row is read.

#include "support.hpp"

#include <ml/logits_file.hpp>

#include <xxhash.h>

#include <cstring>
#include <vector>

FUZZ_TARGET(logits) {
  std::vector<std::uint8_t> bytes(data, data + size);
  if (size >= 48) {
    const std::uint64_t check = XXH3_64bits(bytes.data(), 40);
    std::memcpy(bytes.data() + 40, &check, sizeof check);
    std::uint32_t vocab, bits;
    std::memcpy(&vocab, bytes.data() + 8, 4);
    std::memcpy(&bits, bytes.data() + 12, 4);
    const std::size_t row = (56 + std::size_t(vocab) * (bits == 32 ? 4 : 2) + 7) / 8 * 8;
    for (std::size_t at = 48; at + row <= size; at += row) {
      const std::uint64_t seed = XXH3_64bits(bytes.data() + at, 52);
      const auto sum =
          static_cast<std::uint32_t>(XXH3_64bits_withSeed(bytes.data() + at + 56, row - 56, seed));
      std::memcpy(bytes.data() + at + 52, &sum, sizeof sum);
    }
  }
  const MemoryFile copy(bytes);
  const auto file = ml::LogitsFile::open(copy.path());
  if (!file || file->header().n_rows == 0) return 0;
  std::vector<float> logits(file->header().vocab);
  for (std::uint64_t i = 0; i < file->header().n_rows; ++i) (void)static_cast<bool>(file->read(i, logits));
  return 0;
}
