#include "common/id_format.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <iterator>

namespace cli {

namespace {

using Ids = std::vector<std::uint32_t>;

ml::Error bad(std::string message, std::uint64_t offset) {
  return {.status = ml::Status::format, .message = std::move(message), .offset = offset};
}

std::string decimal(std::span<const std::uint32_t> ids, std::string_view separator) {
  std::string line;
  for (const std::uint32_t id : ids) {
    if (!line.empty()) line += separator;
    fmt::format_to(std::back_inserter(line), "{}", id);
  }
  return line;
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

ml::Result<Ids> parse_decimal(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,";
  Ids ids;
  for (std::size_t at = 0; (at = text.find_first_not_of(kBetween, at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    std::uint32_t id = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, id);
    if (error == std::errc::result_out_of_range) return bad("an id does not fit 32 bits", at);
    if (error != std::errc() || stop != text.data() + end) {
      return bad("not a token id in decimal", static_cast<std::uint64_t>(stop - text.data()));
    }
    ids.push_back(id);
    at = end;
  }
  return ids;
}

ml::Result<Ids> parse_jsonl(std::string_view text) {
  const auto line = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!line.is_object() || !line.contains("ids") || !line["ids"].is_array()) {
    return bad("the line is not {\"ids\": [...]}", 0);
  }
  Ids ids;
  for (const auto& id : line["ids"]) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX)
      return bad("\"ids\" holds what is no id", 0);
    ids.push_back(id.get<std::uint32_t>());
  }
  return ids;
}

}  // namespace

ml::Result<std::string> format_ids(std::span<const std::uint32_t> ids, const std::string& format,
                                   const ml::Tokenizer& tokenizer) {
  if (format == "ids") return fmt::format("{}\n", decimal(ids, " "));
  if (format == "jsonl") return fmt::format("{{\"ids\": [{}]}}\n", decimal(ids, ", "));
  std::string out;
  if (format == "pieces") {
    for (const std::uint32_t id : ids) {
      if (!out.empty()) out += ' ';
      out += quoted(tokenizer.piece(id));
    }
    out += '\n';
    return out;
  }
  const unsigned n_bytes = format == "u16" ? 2 : 4;
  for (const std::uint32_t id : ids) {
    if (n_bytes == 2 && id > UINT16_MAX) {
      return ml::Error{.status = ml::Status::limit,
                       .message = fmt::format("id is {}, does not fit --format u16", id)};
    }
    append_little_endian(out, id, n_bytes);
  }
  return out;
}

ml::Result<Ids> parse_ids(std::string_view text, const std::string& format) {
  if (format == "u16") return parse_raw(text, 2);
  if (format == "u32") return parse_raw(text, 4);
  return format == "jsonl" ? parse_jsonl(text) : parse_decimal(text);
}

std::string json_text_line(const std::string& text) {
  const nlohmann::json value = text;
  return fmt::format("{{\"text\": {}}}\n",
                     value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
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
