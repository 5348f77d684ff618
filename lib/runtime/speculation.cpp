#include <ml/speculation.hpp>

#include "util/try.hpp"

#include <algorithm>

namespace ml {

namespace {

constexpr std::uint32_t kFirstDraft = 4;
constexpr std::size_t kLongestMatch = 4;
constexpr std::size_t kShortestMatch = 2;

std::uint32_t likeliest(std::span<const float> logits) {
  return static_cast<std::uint32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

DraftSource::~DraftSource() = default;

Result<std::vector<std::uint32_t>> LookupDraft::propose(std::span<const std::uint32_t> tokens,
                                                        std::uint32_t n) {
  std::size_t best = 0;  // first token after the match
  std::size_t best_length = kShortestMatch - 1;
  for (std::size_t end = tokens.size(); end-- > kShortestMatch && best_length < kLongestMatch;) {
    std::size_t length = 0;  // tokens before `end` that equal the last ones
    const std::size_t most = std::min(kLongestMatch, end);
    while (length < most && tokens[end - 1 - length] == tokens[tokens.size() - 1 - length]) ++length;
    if (length <= best_length) continue;
    best = end;
    best_length = length;
  }
  if (best == 0) return std::vector<std::uint32_t>();
  const std::size_t n_after = tokens.size() - best;
  std::vector<std::uint32_t> guess(std::min<std::size_t>(n, tokens.size()));
  for (std::size_t i = 0; i < guess.size(); ++i)
    guess[i] = i < n_after ? tokens[best + i] : guess[i - n_after];
  return guess;
}

Result<std::unique_ptr<ModelDraft>> ModelDraft::create(const Model& model, const SessionOptions& options) {
  ML_TRY(Session session, Session::create(model, options));
  return std::unique_ptr<ModelDraft>(new ModelDraft(std::move(session)));
}

Result<std::vector<std::uint32_t>> ModelDraft::propose(std::span<const std::uint32_t> tokens,
                                                       std::uint32_t n) {
  std::vector<std::uint32_t> draft;
  if (tokens.size() >= session_.ctx()) return draft;
  n = std::min<std::uint32_t>(n, session_.ctx() - static_cast<std::uint32_t>(tokens.size()));
  // What it has read and is still so; the last token is read again rather than its logits kept.
  const auto known = session_.tokens();
  const std::size_t n_common = std::min(known.size(), tokens.size() - 1);
  const auto differ =
      std::mismatch(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(n_common), tokens.begin());
  if (!session_.rewind(static_cast<std::uint32_t>(differ.first - known.begin()))) session_.reset();
  ML_TRY(std::span<const float> logits, session_.eval(tokens.subspan(session_.position())));
  ML_CHECK(session_.mark());
  while (draft.size() < n) {
    draft.push_back(likeliest(logits));
    if (draft.size() == n) break;
    ML_TRY(logits, session_.eval({&draft.back(), 1}));
  }
  return draft;
}

SpeculativeDecoder::SpeculativeDecoder(Session& session, DraftSource& source, std::uint32_t max_draft)
    : session_(session),
      source_(source),
      max_draft_(max_draft),
      wanted_(std::min(kFirstDraft, max_draft)),
      tokens_(session.tokens().begin(), session.tokens().end()) {}

// Takes the guesses that did not come true out of the session; what it has to read again stays in tokens_.
Result<void> SpeculativeDecoder::drop_draft() {
  if (n_used_ < draft_.size()) ML_CHECK(session_.rewind(position()));
  draft_.clear();
  n_used_ = 0;
  return {};
}

Result<std::span<const float>> SpeculativeDecoder::eval(std::uint32_t token) {
  if (n_used_ < draft_.size() && draft_[n_used_] == token) {
    tokens_.push_back(token);
    ++n_accepted_;
    ++n_used_;
    return std::span<const float>(rows_).subspan(n_used_ * vocab_, vocab_);
  }
  if (!draft_.empty()) {
    const auto n_used = static_cast<std::uint32_t>(n_used_);
    wanted_ = n_used == draft_.size() ? std::min(2 * wanted_, max_draft_) : std::min(n_used + 1, max_draft_);
  }
  ML_CHECK(drop_draft());
  const std::uint32_t begin = session_.position();
  std::vector<std::uint32_t> pass(tokens_.begin() + begin, tokens_.end());
  pass.push_back(token);
  const std::size_t first = pass.size() - 1;

  // Too much to read again: this pass makes all of it certain.
  const std::uint32_t room = session_.ctx() - std::min(session_.ctx(), position() + 1);
  const std::uint32_t n_wanted = pass.size() > kMaxAgain ? 0 : std::min(wanted_, room);
  if (n_wanted > 0) {
    std::vector<std::uint32_t> sequence = tokens_;
    sequence.push_back(token);
    ML_TRY(draft_, source_.propose(sequence, n_wanted));
  }
  if (!draft_.empty()) ML_CHECK(session_.mark());
  pass.insert(pass.end(), draft_.begin(), draft_.end());
  rows_.clear();
  const auto read = session_.eval(
      pass,
      [&](std::uint32_t, std::span<const float> row) {
        vocab_ = row.size();
        rows_.insert(rows_.end(), row.begin(), row.end());
      },
      first);
  if (!read) {
    draft_.clear();  // nothing of the pass was read
    return read.error();
  }
  tokens_.push_back(token);
  ++n_passes_;
  n_drafted_ += draft_.size();
  return std::span<const float>(rows_).first(vocab_);
}

Result<void> SpeculativeDecoder::finish() {
  ML_CHECK(drop_draft());
  const auto again = std::span<const std::uint32_t>(tokens_).subspan(session_.position());
  if (!again.empty()) ML_CHECK(session_.eval(again));
  return {};
}

}  // namespace ml
