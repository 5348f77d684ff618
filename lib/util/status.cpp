#include <ml/status.hpp>

#include "util/utf8.hpp"

#include <fmt/format.h>

#include <cstring>

namespace ml {

std::string_view status_name(Status status) {
  switch (status) {
    case Status::io: return "ML_E_IO";
    case Status::format: return "ML_E_FORMAT";
    case Status::shape: return "ML_E_SHAPE";
    case Status::unsupported: return "ML_E_UNSUPPORTED";
    case Status::limit: return "ML_E_LIMIT";
    case Status::nomem: return "ML_E_NOMEM";
    case Status::arg: return "ML_E_ARG";
  }
  return "ML_E_FORMAT";
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = step_utf8(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool c1 = step.valid && byte == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if (c1) {
      out += fmt::format("\\u00{:02x}", static_cast<unsigned char>(text[at + 1]));
    } else if (step.valid && byte >= 0x20 && byte != 0x7f) {
      out += text.substr(at, step.n_bytes);
    } else {
      for (unsigned i = 0; i < step.n_bytes; ++i)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at + i]));
    }
    at += step.n_bytes;
  }
  return out;
}

namespace {

constexpr std::size_t kMaxLine = 2000;
constexpr std::size_t kKeptEnd = 600;  // of a longer line, or up to 3 less

// Without its middle where it is long; no character is cut in two.
std::string shorten(std::string line) {
  if (line.size() <= kMaxLine) return line;
  const std::size_t begin = character_begin(line, kMaxLine - kKeptEnd - 3);
  const std::size_t end = character_begin(line, line.size() - kKeptEnd + 3);
  return line.replace(begin, end - begin, "...");
}

}  // namespace

std::string describe(const Error& error) {
  std::string line;
  if (!error.path.empty()) line += (error.path == "-" ? "standard input" : error.path) + ": ";
  line += error.message;
  if (error.os_errno != 0) line += fmt::format(": {}", std::strerror(error.os_errno));
  line += fmt::format(" ({}", status_name(error.status));
  if (!error.tensor.empty()) line += fmt::format(", tensor {}", error.tensor);
  if (error.offset) line += fmt::format(", offset {}", *error.offset);
  return shorten(printable(line + ")"));
}

Error with_path(Error error, std::string_view path) {
  if (error.path.empty()) error.path = path;
  return error;
}

}  // namespace ml
