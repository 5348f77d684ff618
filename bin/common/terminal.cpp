#include "common/terminal.hpp"

#include <ml/status.hpp>

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

namespace cli {

namespace {

std::string visible(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\t", at), text.size());
    out += ml::printable(text.substr(at, end - at));
    if (end < text.size()) out += text[end];
    at = end + 1;
  }
  return out;
}

}  // namespace

std::size_t terminal_columns(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* given = std::getenv("COLUMNS");
  const std::string_view text(given == nullptr ? "" : given);
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool sound = error == std::errc() && end == text.data() + text.size();
  return sound && columns >= 20 && columns <= 1000 ? columns : 80;
}

bool unicode_terminal() {
  const char* term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::string_view(term) == "dumb") return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

std::string TerminalText::push(std::string_view bytes) {
  std::string text = std::exchange(waiting_, {});
  text += bytes;
  // The last lead byte, where fewer bytes follow it than it says.
  for (std::size_t n = 1; n <= std::min<std::size_t>(text.size(), 3); ++n) {
    const auto byte = static_cast<unsigned char>(text[text.size() - n]);
    if ((byte & 0xc0) == 0x80) continue;
    const std::size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (n < wanted) {
      waiting_ = text.substr(text.size() - n);
      text.resize(text.size() - n);
    }
    break;
  }
  return visible(text);
}

std::string TerminalText::finish() { return visible(std::exchange(waiting_, {})); }

std::string bar(double share, std::size_t width, bool unicode) {
  std::string text;
  if (!unicode) {
    const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
    return std::string(full, '#') + std::string(width - full, '.');
  }
  constexpr std::array<const char*, 8> kEighths = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(share * 8.0 * static_cast<double>(width));
  for (std::size_t i = 0; i < width; ++i) {
    if (eighths >= (i + 1) * 8) {
      text += "█";
    } else {
      text += kEighths[eighths > i * 8 ? eighths - i * 8 : 0];
    }
  }
  return text;
}

std::string_view shade(double share, bool unicode) {
  constexpr std::array<std::string_view, 5> kBlocks{"·", "░", "▒", "▓", "█"};
  constexpr std::array<std::string_view, 5> kAscii{".", "-", "+", "*", "#"};
  const auto level = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kBlocks.size());
  return (unicode ? kBlocks : kAscii)[std::min(level, kBlocks.size() - 1)];
}

}  // namespace cli
