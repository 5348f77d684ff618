#include <ml/evaluation.hpp>

#include <algorithm>

namespace ml {

std::uint64_t EvaluationWindows::size() const {
  const std::uint64_t n_targets = n_tokens_ - 1;
  return n_targets <= ctx_ ? 1 : 1 + (n_targets - ctx_ + stride_ - 1) / stride_;
}

EvaluationWindow EvaluationWindows::operator[](std::uint64_t index) const {
  const std::uint64_t begin = index * stride_;
  return {.begin = begin,
          .n_inputs = static_cast<std::uint32_t>(std::min<std::uint64_t>(ctx_, n_tokens_ - 1 - begin)),
          .first_scored = index == 0 ? 0 : ctx_ - stride_};
}

}  // namespace ml
