#include "ml_run/stop_text.hpp"

#include <algorithm>
#include <utility>

namespace cli {

std::string StopText::push(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  std::size_t cut = held_.size();
  for (const std::string& stop : stops_) {
    const std::size_t found = held_.find(stop);
    if (found == std::string::npos) continue;
    stopped_ = true;
    cut = std::min(cut, found);
  }
  if (!stopped_) {
    // The longest end of the text that some stop text begins with stays.
    for (const std::string& stop : stops_) {
      for (std::size_t n = std::min(stop.size(), held_.size()); n > held_.size() - cut; --n) {
        if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) cut = held_.size() - n;
      }
    }
  }
  std::string ready = held_.substr(0, cut);
  held_.erase(0, cut);
  return ready;
}

std::string StopText::finish() { return stopped_ ? std::string() : std::exchange(held_, {}); }

}  // namespace cli
