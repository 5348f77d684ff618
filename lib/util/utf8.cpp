#include "util/utf8.hpp"

#include "util/bytes.hpp"

namespace ml {

namespace {

// The lowest and highest second byte that may follow a lead byte: what rules out overlong forms, surrogates
// and code points above U+10FFFF.
struct SecondByte {
  unsigned char low;
  unsigned char high;
};

SecondByte second_byte(unsigned char lead) {
  switch (lead) {
    case 0xE0: return {0xA0, 0xBF};
    case 0xED: return {0x80, 0x9F};
    case 0xF0: return {0x90, 0xBF};
    case 0xF4: return {0x80, 0x8F};
    default: return {0x80, 0xBF};
  }
}

unsigned length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

bool is_ascii8(const char* bytes) { return (load_le<std::uint64_t>(bytes) & 0x8080808080808080u) == 0; }

}  // namespace

const char* skip_ascii(const char* at, const char* end) {
  while (end - at >= 32) {
    std::uint64_t bits = 0;
    for (int i = 0; i < 32; i += 8) bits |= load_le<std::uint64_t>(at + i);
    if ((bits & 0x8080808080808080u) != 0) break;
    at += 32;
  }
  return at;
}

Utf8Step step_utf8(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  if (bytes.size() >= 3 && continues(1)) {  // the common characters, without a look at the rare limits
    if (byte(0) >= 0xC2 && byte(0) < 0xE0) return {2, true, false};
    const bool plain3 = byte(0) > 0xE0 && byte(0) < 0xF0 && byte(0) != 0xED;
    if (plain3 && continues(2)) return {3, true, false};
  }
  const unsigned length = length_of(byte(0));
  if (length == 0) return {1, false, false};
  const SecondByte second = second_byte(byte(0));
  for (unsigned i = 1; i < length; ++i) {
    if (i == bytes.size()) return {i, false, true};
    const unsigned char low = i == 1 ? second.low : 0x80;
    const unsigned char high = i == 1 ? second.high : 0xBF;
    if (byte(i) < low || byte(i) > high) return {i, false, false};
  }
  return {length, true, false};
}

std::optional<std::size_t> find_invalid_utf8_byte(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at >= 8 && is_ascii8(bytes.data() + at)) {
      at = static_cast<std::size_t>(skip_ascii(bytes.data() + at + 8, bytes.data() + bytes.size()) -
                                    bytes.data());
      continue;
    }
    if (static_cast<signed char>(bytes[at]) >= 0) {
      ++at;
      continue;
    }
    const Utf8Step step = step_utf8(bytes.substr(at));
    if (!step.valid) return at;
    at += step.n_bytes;
  }
  return std::nullopt;
}

void append_lossy_utf8(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t valid = find_invalid_utf8_byte(bytes).value_or(bytes.size());
    out += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) return;
    out += kReplacement;
    bytes.remove_prefix(step_utf8(bytes).n_bytes);
  }
}

void append_utf8(std::string& out, char32_t cp) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (cp >> shift & 0x3F)); };
  if (cp < 0x80) {
    out += static_cast<char>(cp);
  } else if (cp < 0x800) {
    out += static_cast<char>(0xC0 | cp >> 6);
    tail(0);
  } else if (cp < 0x10000) {
    out += static_cast<char>(0xE0 | cp >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | cp >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace ml
