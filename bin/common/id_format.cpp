#include "common/id_format.hpp"

#include "common/json_text.hpp"
#include "common/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace cli {

namespace {

using Ids = std::vector<std::uint32_t>;

ml::Error bad(std::string message, std::uint64_t offset) {
  return {.status = ml::Status::format, .message = std::move(message), .offset = offset};
}

void append_decimal(std::string& out, std::span<const std::uint32_t> ids, std::string_view separator) {
  std::array<char, 16> digits;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i != 0) out += separator;
    out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), ids[i]).ptr);
  }
}

std::string quoted(std::string_view piece) {
  const bool text = !ml::find_invalid_utf8(piece);
  std::string out = "\"";
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !text)) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

void append_little_endian(std::string& out, std::uint32_t id, unsigned n_bytes) {
  for (unsigned i = 0; i < n_bytes; ++i) out += static_cast<char>(id >> 8 * i & 0xFF);
}

ml::Result<Ids> parse_raw(std::string_view text, unsigned n_bytes) {
  if (text.size() % n_bytes != 0) {
    return bad(fmt::format("{} bytes are no whole number of ids of {} bytes", text.size(), n_bytes),
               text.size() - text.size() % n_bytes);
  }
  Ids ids;
  for (std::size_t at = 0; at < text.size(); at += n_bytes) {
    std::uint32_t id = 0;
    for (unsigned i = 0; i < n_bytes; ++i)
      id |= std::uint32_t(static_cast<unsigned char>(text[at + i])) << 8 * i;
    ids.push_back(id);
  }
  return ids;
}

bool separates(char c) { return c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r'; }

ml::Result<Ids> parse_decimal(std::string_view text) {
  Ids ids;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  for (const char* at = begin; at != end;) {
    if (separates(*at)) {
      ++at;
      continue;
    }
    std::uint32_t id = 0;
    const auto [stop, error] = std::from_chars(at, end, id);
    if (error == std::errc::result_out_of_range) {
      return bad("an id does not fit 32 bits", static_cast<std::uint64_t>(at - begin));
    }
    if (error != std::errc() || (stop != end && !separates(*stop))) {
      return bad("not a token id in decimal", static_cast<std::uint64_t>(stop - begin));
    }
    ids.push_back(id);
    at = stop;
  }
  return ids;
}

ml::Result<Ids> parse_jsonl(std::string_view text) {
  const auto line = parse_json(text);
  if (!line && !line.error().offset) return line.error();
  if (!line || !line->is_object() || !line->contains("ids") || !(*line)["ids"].is_array()) {
    return bad("the line is not {\"ids\": [...]}", 0);
  }
  Ids ids;
  for (const auto& id : (*line)["ids"]) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX)
      return bad("\"ids\" holds what is no id", 0);
    ids.push_back(id.get<std::uint32_t>());
  }
  return ids;
}

}  // namespace

ml::Result<void> append_ids(std::string& out, std::span<const std::uint32_t> ids, const std::string& format,
                            const ml::Tokenizer& tokenizer) {
  if (format == "ids") {
    append_decimal(out, ids, " ");
    out += '\n';
    return {};
  }
  if (format == "jsonl") {
    out += "{\"ids\": [";
    append_decimal(out, ids, ", ");
    out += "]}\n";
    return {};
  }
  if (format == "pieces") {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i != 0) out += ' ';
      out += quoted(tokenizer.piece(ids[i]));
    }
    out += '\n';
    return {};
  }
  const unsigned n_bytes = format == "u16" ? 2 : 4;
  if (n_bytes == 2) {
    const auto large = std::find_if(ids.begin(), ids.end(), [](std::uint32_t id) { return id > UINT16_MAX; });
    if (large != ids.end()) {
      return ml::Error{.status = ml::Status::limit,
                       .message = fmt::format("id is {}, does not fit --format u16", *large)};
    }
  }
  out.reserve(out.size() + n_bytes * ids.size());
  for (const std::uint32_t id : ids) append_little_endian(out, id, n_bytes);
  return {};
}

ml::Result<Ids> parse_ids(std::string_view text, const std::string& format) {
  if (format == "u16") return parse_raw(text, 2);
  if (format == "u32") return parse_raw(text, 4);
  return format == "jsonl" ? parse_jsonl(text) : parse_decimal(text);
}

std::string json_text_line(const std::string& text) {
  const nlohmann::json value = text;
  return fmt::format("{{\"text\": {}}}\n", json_text(value));
}

std::size_t offset_of_id(std::string_view text, const std::string& format, std::size_t index) {
  if (format == "u16") return 2 * index;
  if (format == "u32") return 4 * index;
  // Decimal ids, in an array or bare: the digits that begin after something else.
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = is_digit(text[i]);
    if (digit && !inside && index-- == 0) return i;
    inside = digit;
  }
  return 0;
}

}  // namespace cli
