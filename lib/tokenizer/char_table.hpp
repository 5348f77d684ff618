#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ml {

/// Ids by the character that their token is. Characters come in pages of 64; one page without ids stands for
/// all those that have none.
class CharTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Adds one of a character below 0x110000; the first id of equal ones stays.
  void insert(char32_t c, std::uint32_t id) {
    std::uint16_t& page = page_of_[c / kPage];
    if (page == 0) {
      page = static_cast<std::uint16_t>(ids_.size() / kPage);
      ids_.resize(ids_.size() + kPage, kNone);
    }
    std::uint32_t& slot = ids_[page * kPage + c % kPage];
    if (slot == kNone) slot = id;
  }

  bool empty() const { return ids_.size() == kPage; }

  /// @param c  below 0x110000
  /// @return the id, or kNone
  std::uint32_t find(char32_t c) const { return ids_[page_of_[c / kPage] * kPage + c % kPage]; }

 private:
  static constexpr std::size_t kPage = 64;

  std::vector<std::uint16_t> page_of_ = std::vector<std::uint16_t>(0x110000 / kPage);
  std::vector<std::uint32_t> ids_ = std::vector<std::uint32_t>(kPage, kNone);
};

}  // namespace ml
