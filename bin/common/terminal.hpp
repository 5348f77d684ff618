#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Columns of the terminal behind a descriptor; those of COLUMNS, else 80, where there is none or it does not
/// say.
std::size_t terminal_columns(int fd);

/// True where the environment's terminal and locale show more than ASCII.
bool unicode_terminal();

/// Text on its way to a terminal, in pieces of any bytes: control characters but newline and tab, and what is
/// not UTF-8, become ml::printable()'s visible form.
class TerminalText {
 public:
  /// @return what can be shown; a character that is not complete waits for its rest
  std::string push(std::string_view bytes);
  /// @return what was waiting
  std::string finish();

 private:
  std::string waiting_;
};

/// A bar of `width` columns, filled by `share` (0 to 1).
/// @param unicode  fine blocks, blanks behind them; else '#' and '.'
std::string bar(double share, std::size_t width, bool unicode);

/// A mark that is the darker the larger `share` (0 to 1) is.
/// @param unicode  shaded blocks; else marks of ASCII
std::string_view shade(double share, bool unicode);

}  // namespace cli
