#pragma once

#include "util/show_name.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ml {

/// Names for one message: counts all, keeps the first few.
class NameList {
 public:
  void add(std::string_view name) {
    if (++n_ <= kShown) shown_.push_back(show_name(name));
  }
  bool empty() const { return n_ == 0; }
  std::size_t size() const { return n_; }

  /// @return "7 tensors (a, b, c, d, e and 2 more)"
  std::string text(std::string_view noun) const { return text(noun, fmt::format("{}s", noun)); }
  std::string text(std::string_view one, std::string_view several) const {
    return fmt::format("{} {} ({})", n_, n_ == 1 ? one : several, names());
  }
  /// @return "a, b, c, d, e and 2 more"
  std::string names() const {
    const std::string more = n_ > kShown ? fmt::format(" and {} more", n_ - kShown) : "";
    return fmt::format("{}{}", fmt::join(shown_, ", "), more);
  }

 private:
  static constexpr std::size_t kShown = 5;
  std::size_t n_ = 0;
  std::vector<std::string> shown_;
};

}  // namespace ml
