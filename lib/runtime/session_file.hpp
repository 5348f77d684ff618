#pragma once

// A saved session. Little-endian; private to this library, but checked like any file.
//
//   0   char[4]  magic MLS1
//   4   u32      version, 1
//   8   u64      fingerprint of the model (XXH3-64 of its description and of the ends of its tensors)
//   16  u32      KV type (0 f32, 1 f16, 2 q8, 3 bf16, 4 fp8, 5 fp4), u32 activations (0 q8, 1 f32)
//   24  u32      positions evaluated, u32 tokens in all (the pending ones included)
//   32  u32[]    tokens
//       for each layer: attention: for each position that later ones can see, its keys, then its values, or
//       its latent row; linear attention: the states and the last inputs, float32
//   end u64      XXH3-64 of all before it

#include <ml/model.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace ml {

inline constexpr char kSessionMagic[4] = {'M', 'L', 'S', '1'};
inline constexpr std::uint32_t kSessionVersion = 1;
inline constexpr std::uint64_t kSessionHeaderBytes = 32;
inline constexpr std::uint64_t kSessionHashBytes = 8;

struct SessionHeader {
  char magic[4];
  std::uint32_t version;
  std::uint64_t fingerprint;
  std::uint32_t kv;
  std::uint32_t activations;
  std::uint32_t position;
  std::uint32_t n_tokens;
};
static_assert(sizeof(SessionHeader) == kSessionHeaderBytes);

/// Checks all that can be checked without the model: header, checksum, room for the tokens.
///
/// @error format
Result<SessionHeader> read_session_header(std::span<const std::byte> bytes);

/// Tells models apart without reading all of their weights.
std::uint64_t model_fingerprint(const Model& model);

/// The first position that a query at `position` or later can see.
std::uint32_t first_visible(const ModelDesc& desc, std::uint32_t layer, std::uint32_t position);

}  // namespace ml
