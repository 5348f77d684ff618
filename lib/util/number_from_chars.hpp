#pragma once

#include <charconv>
#include <concepts>
#include <system_error>

#ifndef __cpp_lib_to_chars
#include <locale.h>
#include <stdlib.h>

#include <cerrno>
#include <cmath>
#include <string>
#endif

namespace ml {

/// std::from_chars for numbers of any type. Libraries may have it for integers alone (LLVM's before version
/// 20).
template <class Number>
std::from_chars_result number_from_chars(const char* first, const char* last, Number& value) {
#ifndef __cpp_lib_to_chars
  if constexpr (std::floating_point<Number>) {
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", locale_t());
    std::string text(first, last);
    // strtod takes blanks, a plus and hexadecimal numbers, too.
    const std::size_t digits = text.starts_with('-') ? 1 : 0;
    const bool begins =
        digits < text.size() && text[digits] != '+' && text[digits] != '-' && text[digits] > ' ';
    if (const std::size_t x = text.find_first_of("xX"); x == digits + 1) text.resize(x);
    char* end = text.data();
    errno = 0;
    const double number = begins ? strtod_l(text.c_str(), &end, plain) : 0;
    if (end == text.data()) return {first, std::errc::invalid_argument};
    const char* const after = first + (end - text.data());
    const auto narrow = static_cast<Number>(number);
    if (errno == ERANGE || (std::isinf(narrow) && !std::isinf(number)))
      return {after, std::errc::result_out_of_range};
    value = narrow;
    return {after, std::errc()};
  } else
#endif
    return std::from_chars(first, last, value);
}

}  // namespace ml
