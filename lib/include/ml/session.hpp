#pragma once

#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/status.hpp>
#include <ml/target.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ml {

class ImatrixCollector;

/// What quantized matrices are multiplied with: activations quantized to Q8_0 blocks, or float32.
enum class Activations : std::uint8_t { q8, f32 };

/// What the router of a mixture of experts chose for one token.
struct Route {
  std::uint32_t layer;
  std::uint32_t position;                  ///< of the token in its sequence
  bool values;                             ///< experts of values; otherwise those of the feed-forward
  std::span<const std::uint32_t> experts;  ///< the best one first; valid during the call, as the weights
  std::span<const float> weights;
};
/// Receives every choice: layer by layer, within a layer values before the feed-forward, tokens in order.
using RouteSink = std::function<void(const Route&)>;

struct SessionOptions {
  std::uint32_t ctx = 0;      ///< positions the KV cache holds; 0: the model's max_seq, at most 4096
  std::uint32_t batch = 512;  ///< prompt tokens a pass; never changes a bit of the result
  Activations activations = Activations::q8;
  std::optional<KvType> kv = {};  ///< unset: default_kv()
  unsigned threads = 0;           ///< 0: available_threads(); never changes a bit of the result
  Target target = Target::best;
  ImatrixCollector* imatrix =
      nullptr;            ///< gets the squares of every input; made for the model, outlives the session
  RouteSink routes = {};  ///< models with mixtures of experts call it
};

/// What a model's caches are kept in where nobody says: what the model says itself (LatentDesc::kv); else f32
/// with float32 activations; else bf16 for models with latent attention, f16 for others.
ML_API KvType default_kv(const ModelDesc& desc, Activations activations);

/// Bytes of the caches of all attention layers a position, windows aside.
ML_API std::uint64_t kv_bytes_a_token(const ModelDesc& desc, KvType kv);

/// Receives the logits of one position: vocab floats, valid during the call. Positions come in order.
using LogitsSink = std::function<void(std::uint32_t position, std::span<const float> logits)>;

/// One sequence running through a model: its KV cache and scratch memory. Not thread-safe; use one a
/// sequence.
class ML_API Session {
 public:
  /// @error limit        ctx is over the model's max_seq
  /// @error arg          fp8 or fp4 for a model without latent attention
  /// @error nomem
  static Result<Session> create(const Model& model, const SessionOptions& options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Appends tokens to the sequence.
  ///
  /// @param tokens  ids below vocab, at least one
  /// @return        logits of the last token, vocab floats, valid until the next call
  /// @error limit   the context is full
  /// @error arg     a token is not below vocab
  Result<std::span<const float>> eval(std::span<const std::uint32_t> tokens);

  /// The same, with the logits of every token from tokens[first] on.
  Result<void> eval(std::span<const std::uint32_t> tokens, const LogitsSink& sink, std::size_t first = 0);

  /// Forgets all tokens.
  void reset();

  /// Remembers where the sequence ends now, in place of an earlier mark. reset() and restore() forget it.
  ///
  /// @error nomem  models with linear attention keep a copy of their states
  Result<void> mark();

  /// Drops tokens from the end.
  ///
  /// @param position  tokens to keep, at least those at the mark
  /// @return          tokens that stayed: `position`, but those at the mark where the model has linear
  /// attention
  ///                  and tokens go; the caller then appends the others again
  /// @error arg    there is no mark, or position is before it or after the end
  /// @error limit  more tokens than a pass holds (SessionOptions::batch) go from a model with windows
  Result<std::uint32_t> rewind(std::uint32_t position);

  /// Writes the sequence, so that restore() goes on with the same bits as without the pause.
  ///
  /// @param pending  tokens that come next and are not evaluated yet
  /// @error io
  Result<void> save(OutputFile& out, std::span<const std::uint32_t> pending) const;

  /// Takes up a saved sequence in place of this one.
  ///
  /// @param bytes        what save() wrote
  /// @return             the pending tokens
  /// @error format       no session file, or a damaged one
  /// @error arg          it was saved with another model, KV type or kind of activations
  /// @error limit        it holds more positions than this session's context
  Result<std::vector<std::uint32_t>> restore(std::span<const std::byte> bytes);

  /// Tokens in a saved sequence, the pending ones included. Checks the file's form, not its model.
  static Result<std::uint32_t> saved_tokens(std::span<const std::byte> bytes);

  /// The tokens evaluated so far.
  std::span<const std::uint32_t> tokens() const;

  std::uint32_t position() const;  ///< tokens so far
  std::uint32_t ctx() const;
  std::uint64_t kv_bytes() const;       ///< KV caches and the states of linear-attention layers
  std::uint64_t scratch_bytes() const;  ///< everything else the session allocated

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ml
