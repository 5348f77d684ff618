#pragma once

#include <ml/status.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ml {

/// The defects of a file: the first ones, and how many follow. A small file could have a great many.
class DefectList {
 public:
  static constexpr std::size_t kMax = 1000;

  void add(Error error) {
    if (defects_.size() < kMax) {
      defects_.push_back(std::move(error));
    } else {
      ++n_more_;
    }
  }
  /// Counts one more; make() gives it where it is kept. What is not costs no text.
  template <class Make>
  void add_made(const Make& make) {
    if (defects_.size() < kMax) {
      defects_.push_back(make());
    } else {
      ++n_more_;
    }
  }
  bool empty() const { return defects_.empty(); }

  /// @return the defects; a last one counts those beyond kMax
  std::vector<Error> take() {
    if (n_more_ > 0) {
      defects_.push_back(
          {.status = Status::format,
           .message = fmt::format("{} more {}", n_more_, n_more_ == 1 ? "defect" : "defects")});
    }
    n_more_ = 0;
    return std::exchange(defects_, {});
  }

 private:
  std::vector<Error> defects_;
  std::uint64_t n_more_ = 0;
};

}  // namespace ml
