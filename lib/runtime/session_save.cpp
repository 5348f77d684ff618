#include "runtime/session_file.hpp"
#include "runtime/session_impl.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <new>

namespace ml {

namespace {

// Writes and hashes what it writes.
class HashedOutput {
 public:
  explicit HashedOutput(OutputFile& out) : out_(out), state_(XXH3_createState()) {
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state_);
  }
  ~HashedOutput() { XXH3_freeState(state_); }
  HashedOutput(const HashedOutput&) = delete;
  HashedOutput& operator=(const HashedOutput&) = delete;

  Result<void> write(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_, bytes.data(), bytes.size());
    return out_.write(bytes);
  }
  Result<void> finish() {
    const std::uint64_t hash = XXH3_64bits_digest(state_);
    return out_.write(LittleEndian(std::span(&hash, 1)).bytes());
  }

 private:
  OutputFile& out_;
  XXH3_state_t* state_;
};

Error damaged(std::string message, std::uint64_t offset) {
  return {.status = Status::format, .message = std::move(message), .offset = offset};
}

std::uint64_t layer_bytes(const ModelDesc& desc, Sequence& sequence, std::uint32_t layer,
                          std::uint32_t position) {
  switch (desc.layers[layer].kind) {
    case LayerKind::attention:
    case LayerKind::latent_attention:
      return (position - first_visible(desc, layer, position)) * sequence.cache(layer).position_bytes();
    case LayerKind::gated_delta: return sequence.state(layer).size_bytes();
  }
  return 0;
}

void order_header(SessionHeader& header) {
  order_le(&header.version, 4, 1);
  order_le(&header.fingerprint, 8, 1);
  order_le(&header.kv, 4, 4);
}

}  // namespace

Result<SessionHeader> read_session_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kSessionHeaderBytes + kSessionHashBytes) {
    return damaged(fmt::format("file is {} bytes, a session needs at least {}", bytes.size(),
                               kSessionHeaderBytes + kSessionHashBytes),
                   bytes.size());
  }
  SessionHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  order_header(header);
  if (!std::equal(header.magic, header.magic + 4, kSessionMagic)) return damaged("magic must be MLS1", 0);
  if (header.version != kSessionVersion) {
    return damaged(fmt::format("version is {}, must be {}", header.version, kSessionVersion), 4);
  }
  const std::uint64_t end = bytes.size() - kSessionHashBytes;
  if (XXH3_64bits(bytes.data(), end) != load_le<std::uint64_t>(bytes.data() + end)) {
    return damaged("checksum does not match: the file is damaged or incomplete", end);
  }
  if (header.kv > static_cast<std::uint32_t>(KvType::fp4))
    return damaged(fmt::format("KV type is {}, must be at most 5", header.kv), 16);
  if (header.activations > 1)
    return damaged(fmt::format("activations are {}, must be 0 or 1", header.activations), 20);
  if (header.position > header.n_tokens) {
    return damaged(
        fmt::format("positions are {}, must be at most the {} tokens", header.position, header.n_tokens), 24);
  }
  if (header.n_tokens > (end - kSessionHeaderBytes) / sizeof(std::uint32_t)) {
    return damaged(fmt::format("tokens are {}, the file has room for {}", header.n_tokens,
                               (end - kSessionHeaderBytes) / sizeof(std::uint32_t)),
                   28);
  }
  return header;
}

Result<void> Session::save(OutputFile& out, std::span<const std::uint32_t> pending) const {
  const Engine& engine = *impl_->engine;
  Sequence& sequence = impl_->sequence;
  const std::uint32_t position = sequence.position();
  SessionHeader header{.magic = {kSessionMagic[0], kSessionMagic[1], kSessionMagic[2], kSessionMagic[3]},
                       .version = kSessionVersion,
                       .fingerprint = model_fingerprint(engine.model()),
                       .kv = static_cast<std::uint32_t>(*engine.options().kv),
                       .activations = static_cast<std::uint32_t>(engine.options().activations),
                       .position = position,
                       .n_tokens = position + static_cast<std::uint32_t>(pending.size())};
  order_header(header);
  HashedOutput hashed(out);
  ML_CHECK(hashed.write(std::as_bytes(std::span(&header, 1))));
  ML_CHECK(hashed.write(LittleEndian(std::span(sequence.tokens)).bytes()));
  ML_CHECK(hashed.write(LittleEndian(pending).bytes()));
  const ModelDesc& desc = engine.desc();
  std::vector<std::byte> row;
  for (std::uint32_t layer = 0; layer < desc.n_layers(); ++layer) {
    if (desc.layers[layer].kind == LayerKind::gated_delta) {
      ML_CHECK(hashed.write(LittleEndian(sequence.state(layer)).bytes()));
      continue;
    }
    const KvCache& cache = sequence.cache(layer);
    row.resize(cache.position_bytes());
    for (std::uint32_t p = first_visible(desc, layer, position); p < position; ++p) {
      cache.copy_position(p, row.data());
      ML_CHECK(hashed.write(row));
    }
  }
  return hashed.finish();
}

Result<std::uint32_t> Session::saved_tokens(std::span<const std::byte> bytes) {
  ML_TRY(const SessionHeader header, read_session_header(bytes));
  return header.n_tokens;
}

Result<std::vector<std::uint32_t>> Session::restore(std::span<const std::byte> bytes) {
  const Engine& engine = *impl_->engine;
  Sequence& sequence = impl_->sequence;
  ML_TRY(const SessionHeader header, read_session_header(bytes));
  const auto mismatch = [](const char* what) {
    return Error{.status = Status::arg,
                 .message = fmt::format("the session was saved with another {}", what)};
  };
  if (header.fingerprint != model_fingerprint(engine.model())) return mismatch("model");
  if (header.kv != static_cast<std::uint32_t>(*engine.options().kv))
    return mismatch("type of KV cache (--kv)");
  if (header.activations != static_cast<std::uint32_t>(engine.options().activations)) {
    return mismatch("kind of activations (--acts)");
  }
  if (header.position > engine.options().ctx) {
    return Error{.status = Status::limit,
                 .message = fmt::format("the session holds {} positions, the context {}", header.position,
                                        engine.options().ctx)};
  }
  const ModelDesc& desc = engine.desc();
  std::uint64_t n_bytes = kSessionHeaderBytes + 4ull * header.n_tokens + 8;
  for (std::uint32_t layer = 0; layer < desc.n_layers(); ++layer)
    n_bytes += layer_bytes(desc, sequence, layer, header.position);
  if (bytes.size() != n_bytes) {
    return damaged(fmt::format("file is {} bytes, {} positions of this model need {}", bytes.size(),
                               header.position, n_bytes),
                   std::min<std::uint64_t>(bytes.size(), n_bytes));
  }

  const std::byte* in = bytes.data() + kSessionHeaderBytes;
  std::vector<std::uint32_t> tokens(header.n_tokens);
  load_le(in, std::span(tokens));
  in += 4 * tokens.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= desc.vocab) {
      return damaged(
          fmt::format("token {} is {}, must be below the vocabulary of {}", i, tokens[i], desc.vocab),
          kSessionHeaderBytes + 4 * i);
    }
  }
  for (std::uint32_t layer = 0; layer < desc.n_layers(); ++layer) {
    if (desc.layers[layer].kind == LayerKind::gated_delta) {
      const std::span<float> state = sequence.state(layer);
      load_le(in, state);
      in += state.size_bytes();
      continue;
    }
    KvCache& cache = sequence.cache(layer);
    for (std::uint32_t p = first_visible(desc, layer, header.position); p < header.position; ++p) {
      cache.restore_position(p, in);
      in += cache.position_bytes();
    }
  }
  sequence.forget_mark();
  const auto next = tokens.begin() + header.position;
  sequence.tokens.assign(tokens.begin(), next);
  return std::vector<std::uint32_t>(next, tokens.end());
}

}  // namespace ml
