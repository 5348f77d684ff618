#include "chat/text.hpp"

#include "util/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace ml::chat {

namespace {

// What Python's str.isspace holds for.
bool is_blank(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_start(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

char32_t decode(std::string_view one) {
  const char* at = one.data();
  return next_char(at);
}

std::string_view first_char(std::string_view text) {
  std::size_t n = 1;
  while (n < text.size() && !is_start(text[n])) ++n;
  return text.substr(0, n);
}

std::string_view last_char(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && !is_start(text[at])) --at;
  return text.substr(at);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

}  // namespace

Error too_much_text() { return {.status = Status::limit, .message = "the template makes too much text"}; }

std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> set) {
  std::vector<char32_t> gone;
  if (set) {
    for (const std::string_view one : chars(*set)) gone.push_back(decode(one));
    std::sort(gone.begin(), gone.end());
  }
  const auto goes = [&](std::string_view one) {
    const char32_t c = decode(one);
    return set ? std::binary_search(gone.begin(), gone.end(), c) : is_blank(c);
  };
  if (side != Side::right) {
    while (!text.empty()) {
      const std::string_view one = first_char(text);
      if (!goes(one)) break;
      text.remove_prefix(one.size());
    }
  }
  if (side != Side::left) {
    while (!text.empty()) {
      const std::string_view one = last_char(text);
      if (!goes(one)) break;
      text.remove_suffix(one.size());
    }
  }
  return text;
}

std::size_t find_part(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* place = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (place == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(place) - text.data());
}

std::vector<std::string> split_blanks(std::string_view text, std::int64_t max) {
  std::vector<std::string> parts;
  text = strip(text, Side::left);
  while (!text.empty()) {
    if (max >= 0 && parts.size() >= static_cast<std::size_t>(max)) {
      parts.emplace_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const std::string_view one = first_char(text.substr(end));
      if (is_blank(decode(one))) break;
      end += one.size();
    }
    parts.emplace_back(text.substr(0, end));
    text = strip(text.substr(end), Side::left);
  }
  return parts;
}

std::vector<std::string> split(std::string_view text, std::string_view separator, std::int64_t max) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (max < 0 || parts.size() < static_cast<std::size_t>(max)) {
    const std::size_t at = find_part(text, separator, from);
    if (at == std::string_view::npos) break;
    parts.emplace_back(text.substr(from, at - from));
    from = at + separator.size();
  }
  parts.emplace_back(text.substr(from));
  return parts;
}

std::vector<std::string> split_right(std::string_view text, std::string_view separator, std::int64_t max) {
  // From the right, matches that overlap are others than from the left: turn all of it around.
  const std::string turned_text(text.rbegin(), text.rend());
  const std::string turned_separator(separator.rbegin(), separator.rend());
  auto parts = split(turned_text, turned_separator, max);
  for (std::string& part : parts) part = std::string(part.rbegin(), part.rend());
  return {parts.rbegin(), parts.rend()};
}

Result<std::string> replace(std::string_view text, std::string_view from, std::string_view to,
                            std::int64_t max, std::size_t max_bytes) {
  const Error too_long = too_much_text();
  std::string out;
  std::int64_t n = 0;
  if (from.empty()) {  // Python puts the new text before every character and at the end
    for (; !text.empty(); text.remove_prefix(first_char(text).size())) {
      if (max < 0 || n++ < max) out += to;
      out += first_char(text);
      if (out.size() > max_bytes) return too_long;
    }
    if (max < 0 || n < max) out += to;
    return out;
  }
  std::size_t at = 0;
  for (; max < 0 || n < max; ++n) {
    const std::size_t next = find_part(text, from, at);
    if (next == std::string_view::npos) break;
    out.append(text.substr(at, next - at)).append(to);
    if (out.size() > max_bytes) return too_long;
    at = next + from.size();
  }
  out.append(text.substr(at));
  return out;
}

Result<std::string> change_case(std::string_view text, Case how) {
  std::string out;
  bool in_word = false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      return Error{.status = Status::unsupported, .message = "changing the case of text beyond ASCII"};
    }
    switch (how) {
      case Case::upper: out += to_upper(c); break;
      case Case::lower: out += to_lower(c); break;
      case Case::capitalize: out += out.empty() ? to_upper(c) : to_lower(c); break;
      case Case::title:
        out += in_word ? to_lower(c) : to_upper(c);
        in_word = is_letter(c);
        break;
      case Case::title_words:
        out += in_word ? to_lower(c) : to_upper(c);
        in_word = !is_blank(static_cast<char32_t>(c)) &&
                  std::string_view("-({[<").find(c) == std::string_view::npos;
        break;
    }
  }
  return out;
}

std::size_t n_chars(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += is_start(c) ? 1 : 0;
  return n;
}

std::vector<std::string_view> chars(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    all.push_back(first_char(text));
    text.remove_prefix(all.back().size());
  }
  return all;
}

}  // namespace ml::chat
