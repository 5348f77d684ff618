#include "chat/interpreter.hpp"
#include "util/show_name.hpp"

#include <fmt/format.h>

#include <array>

namespace ml::chat {

namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<int, 12> kBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};

bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int day_of_year(const Date& date) {
  return kBefore[static_cast<std::size_t>(date.month - 1)] + date.day +
         (date.month > 2 && is_leap(date.year) ? 1 : 0);
}

// Days since a Sunday before the year 1 (proleptic Gregorian calendar).
int weekday(const Date& date) {
  const int before = date.year - 1;
  return (before * 365 + before / 4 - before / 100 + before / 400 + day_of_year(date)) % 7;
}

bool take_digits(std::string_view& text, std::size_t n, int& number) {
  if (text.size() < n) return false;
  number = 0;
  for (const char c : text.substr(0, n)) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(n);
  return true;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

bool read_date(std::string_view text, Date& date) {
  if (!take_digits(text, 4, date.year) || !take(text, "-") || !take_digits(text, 2, date.month) ||
      !take(text, "-") || !take_digits(text, 2, date.day)) {
    return false;
  }
  if (!text.empty()) {
    if (!take(text, " T") || !take_digits(text, 2, date.hour) || !take(text, ":") ||
        !take_digits(text, 2, date.minute)) {
      return false;
    }
    if (!text.empty() && (!take(text, ":") || !take_digits(text, 2, date.second) || !text.empty()))
      return false;
  }
  if (date.year < 1 || date.month < 1 || date.month > 12 || date.hour > 23 || date.minute > 59 ||
      date.second > 59) {
    return false;
  }
  const auto month = static_cast<std::size_t>(date.month - 1);
  const int n_days = date.month == 12  ? 31
                     : date.month == 2 ? (is_leap(date.year) ? 29 : 28)
                                       : kBefore[month + 1] - kBefore[month];
  return date.day >= 1 && date.day <= n_days;
}

}  // namespace

Result<Date> parse_date(std::string_view text) {
  Date date;
  if (read_date(text, date)) return date;
  return Error{
      .status = Status::arg,
      .message = fmt::format("the date '{}' is not like 2026-11-29 or 2026-11-29T08:30:05", show_name(text))};
}

Result<std::string> format_date(std::string_view format, const Date& date) {
  const std::string_view month = kMonths[static_cast<std::size_t>(date.month - 1)];
  const std::string_view day = kDays[static_cast<std::size_t>(weekday(date))];
  const int hour12 = date.hour % 12 == 0 ? 12 : date.hour % 12;
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const char directive = ++i < format.size() ? format[i] : ' ';
    switch (directive) {
      case 'Y': out += fmt::format("{:04}", date.year); break;
      case 'y': out += fmt::format("{:02}", date.year % 100); break;
      case 'm': out += fmt::format("{:02}", date.month); break;
      case 'd': out += fmt::format("{:02}", date.day); break;
      case 'e': out += fmt::format("{:2}", date.day); break;
      case 'j': out += fmt::format("{:03}", day_of_year(date)); break;
      case 'H': out += fmt::format("{:02}", date.hour); break;
      case 'I': out += fmt::format("{:02}", hour12); break;
      case 'M': out += fmt::format("{:02}", date.minute); break;
      case 'S': out += fmt::format("{:02}", date.second); break;
      case 'p': out += date.hour < 12 ? "AM" : "PM"; break;
      case 'B': out += month; break;
      case 'b': out += month.substr(0, 3); break;
      case 'A': out += day; break;
      case 'a': out += day.substr(0, 3); break;
      case 'F': out += fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day); break;
      case 'T': out += fmt::format("{:02}:{:02}:{:02}", date.hour, date.minute, date.second); break;
      case '%': out += '%'; break;
      default:
        return not_known(fmt::format("'%{}' in strftime_now", show_name(std::string_view(&directive, 1))));
    }
  }
  return out;
}

}  // namespace ml::chat
