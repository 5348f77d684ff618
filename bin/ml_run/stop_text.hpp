#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Cuts streamed text before the first of some texts (--stop). What could be the beginning of one is held
/// back.
class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds text. @return what may be printed now
  std::string push(std::string_view text);
  /// @return what was held back
  std::string finish();
  /// True once a stop text has come; nothing after it is returned.
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace cli
