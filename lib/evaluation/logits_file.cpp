// A logit file. Little-endian; mllogits(5) is its normative text.
//
//   0   char[4]  magic MLL1
//   4   u32      version, 1
//   8   u32      vocab, u32 bits of a logit (16 or 32)
//   16  u32      ctx, u32 stride
//   24  u64      rows
//   32  u64      hash of the tokens
//   40  u64      XXH3-64 of bytes 0 to 39
//   48  rows, one after the other
//
// A row:
//   0   u32      token, u32 tokens of its window before it
//   8   f64      log of the sum of e^(logit - largest)
//   16  f64      the largest logit
//   24  f64      -log of the token's probability
//   32  u32[5]   the likeliest tokens; 0xffffffff past the vocabulary
//   52  u32      lower half of XXH3-64 of the bytes from 56 on, with XXH3-64 of bytes 0 to 51 as its seed
//   56  u16[vocab] distances from the largest logit, or f32[vocab] logits; zeros up to a multiple of 8
//
// A distance is an unsigned float of 5 bits of exponent (bias 15) and 11 of mantissa; exponent 0 holds
// multiples of 2^-25, and 31 is an exponent like the others. Larger ones than 131008 become that.

#include <ml/logits_file.hpp>

#include "evaluation/logits_file_bytes.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/mapped_file.hpp"
#include "util/try.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

namespace ml {

namespace {

constexpr char kMagic[4] = {'M', 'L', 'L', '1'};
constexpr std::uint64_t kHeaderBytes = 48;
constexpr std::uint64_t kHashedBytes = 40;
constexpr std::uint64_t kRowHead = 56;
constexpr std::uint64_t kRowCheck = 52;
constexpr float kLargestDistance = 131008.0f;
constexpr float kSmallestNormal = 0x1p-14f;

std::uint16_t encode_distance(float distance) {
  distance = std::min(distance, kLargestDistance);
  if (distance < kSmallestNormal) return static_cast<std::uint16_t>(std::nearbyintf(distance * 0x1p25f));
  const auto bits = std::bit_cast<std::uint32_t>(distance);
  const std::uint32_t rounded = bits + 0x7ff + ((bits >> 12) & 1);  // to nearest, ties to even
  return static_cast<std::uint16_t>((rounded >> 12) - (112u << 11));
}

float decode_distance(std::uint16_t code) {
  if (code < 1u << 11) return static_cast<float>(code) * 0x1p-25f;
  return std::bit_cast<float>((static_cast<std::uint32_t>(code) + (112u << 11)) << 12);
}

// Of one row. No overflow: vocab has 32 bits.
std::uint64_t row_bytes(const LogitsHeader& header) {
  const std::uint64_t width = header.precision == LogitPrecision::bits16 ? 2 : 4;
  return *(Checked(kRowHead) + (Checked(header.vocab) * width)).round_up(8).get();
}

std::uint32_t check_of(std::span<const std::byte> row) {
  const std::uint64_t seed = XXH3_64bits(row.data(), kRowCheck);
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(row.data() + kRowHead, row.size() - kRowHead, seed));
}

Error damaged(std::string message, std::uint64_t offset) {
  return {.status = Status::format, .message = std::move(message), .offset = offset};
}

Result<LogitsHeader> read_header(std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  if (bytes.size() < kHeaderBytes) {
    return damaged(
        fmt::format("file is {} bytes, a logit file needs at least {}", bytes.size(), kHeaderBytes),
        bytes.size());
  }
  if (std::memcmp(at, kMagic, sizeof kMagic) != 0) return damaged("magic must be MLL1", 0);
  if (const auto version = load_le<std::uint32_t>(at + 4); version != 1)
    return damaged(fmt::format("version is {}, must be 1", version), 4);
  if (XXH3_64bits(at, kHashedBytes) != load_le<std::uint64_t>(at + kHashedBytes))
    return damaged("checksum of the header does not match", kHashedBytes);
  const auto bits = load_le<std::uint32_t>(at + 12);
  const LogitsHeader header{.vocab = load_le<std::uint32_t>(at + 8),
                            .precision = static_cast<LogitPrecision>(bits),
                            .ctx = load_le<std::uint32_t>(at + 16),
                            .stride = load_le<std::uint32_t>(at + 20),
                            .n_rows = load_le<std::uint64_t>(at + 24),
                            .tokens_hash = load_le<std::uint64_t>(at + 32)};
  if (header.vocab == 0) return damaged("vocab is 0, must be at least 1", 8);
  if (bits != 16 && bits != 32)
    return damaged(fmt::format("bits of a logit are {}, must be 16 or 32", bits), 12);
  if (header.stride == 0 || header.stride > header.ctx) {
    return damaged(fmt::format("stride is {}, must be from 1 to the ctx of {}", header.stride, header.ctx),
                   20);
  }
  return header;
}

std::optional<std::uint64_t> bytes_of(const LogitsHeader& header) {
  return (Checked(header.n_rows) * row_bytes(header) + Checked(kHeaderBytes)).get();
}

// The header of a whole file.
Result<LogitsHeader> read_file_header(std::span<const std::byte> bytes) {
  ML_TRY(const LogitsHeader header, read_header(bytes));
  const auto needed = bytes_of(header);
  if (!needed || *needed != bytes.size()) {
    return damaged(fmt::format("file is {} bytes, {} rows need {}", bytes.size(), header.n_rows,
                               needed ? fmt::format("{}", *needed) : "more than 2^64"),
                   std::min<std::uint64_t>(needed.value_or(bytes.size()), bytes.size()));
  }
  return header;
}

Result<std::uint64_t> logits_start(std::span<const std::byte> start) {
  if (as_text(start).starts_with(std::string_view(kMagic, sizeof kMagic))) return kNoMaxBytes;
  return damaged("magic must be MLL1", 0);
}

}  // namespace

std::optional<std::uint64_t> logits_file_bytes(std::span<const std::byte> start) {
  const auto header = read_header(start);
  return header ? bytes_of(*header) : std::nullopt;
}

std::uint64_t LogitsHeader::n_bytes() const { return kHeaderBytes + n_rows * row_bytes(*this); }

Result<LogitsWriter> LogitsWriter::create(OutputFile& out, const LogitsHeader& header) {
  std::byte bytes[kHeaderBytes];
  std::memcpy(bytes, kMagic, sizeof kMagic);
  store_le<std::uint32_t>(bytes + 4, 1);
  store_le(bytes + 8, header.vocab);
  store_le(bytes + 12, static_cast<std::uint32_t>(header.precision));
  store_le(bytes + 16, header.ctx);
  store_le(bytes + 20, header.stride);
  store_le(bytes + 24, header.n_rows);
  store_le(bytes + 32, header.tokens_hash);
  store_le<std::uint64_t>(bytes + kHashedBytes, XXH3_64bits(bytes, kHashedBytes));
  ML_CHECK(out.write(bytes));
  LogitsWriter writer(out, header);
  writer.bytes_.resize(row_bytes(header));
  return writer;
}

Result<void> LogitsWriter::write(const LogitsRow& row, std::span<const float> logits) {
  std::byte* to = bytes_.data();
  store_le(to, row.token);
  store_le(to + 4, row.n_before);
  store_le(to + 8, row.score.log_sum);
  store_le(to + 16, row.score.max);
  store_le(to + 24, row.score.nll);
  for (std::size_t i = 0; i < kTopTokens; ++i) store_le(to + 32 + 4 * i, row.score.top[i]);
  if (header_.precision == LogitPrecision::bits32) {
    store_le(to + kRowHead, logits);
  } else {
    const auto max = static_cast<float>(row.score.max);
    for (std::size_t i = 0; i < logits.size(); ++i)
      store_le(to + kRowHead + 2 * i, encode_distance(max - logits[i]));
  }
  store_le(to + kRowCheck, check_of(bytes_));
  ++n_rows_;
  return out_->write(bytes_);
}

Result<void> LogitsWriter::finish() const {
  if (n_rows_ == header_.n_rows) return {};
  return Error{.status = Status::arg,
               .message = fmt::format("{} rows were written, the header says {}", n_rows_, header_.n_rows)};
}

bool LogitsFile::sniff(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe can be read only once
  char magic[4] = {};
  return std::ifstream(path, std::ios::binary).read(magic, 4).good() && std::equal(magic, magic + 4, kMagic);
}

Result<LogitsFile> LogitsFile::view(std::span<const std::byte> bytes) {
  LogitsFile file;
  ML_TRY(file.header_, read_file_header(bytes));
  file.bytes_ = bytes;
  return file;
}

Result<LogitsFile> LogitsFile::open(const std::string& path) {
  ML_TRY(auto input, InputBytes::open(path, {}, logits_start));
  return open(std::move(input), path);
}

Result<LogitsFile> LogitsFile::open(std::shared_ptr<const InputBytes> input, const std::string& path) {
  auto file = view(input->data());
  if (!file) return with_path(std::move(file.error()), path);
  file->storage_ = std::move(input);
  file->path_ = path;
  return file;
}

Result<LogitsRow> LogitsFile::read(std::uint64_t index, std::span<float> logits) const {
  const std::uint64_t n_bytes = row_bytes(header_);
  const std::uint64_t offset = kHeaderBytes + index * n_bytes;
  const std::span<const std::byte> bytes = bytes_.subspan(offset, n_bytes);
  const std::byte* at = bytes.data();
  const auto fail = [&](std::string message, std::uint64_t within) {
    return with_path(damaged(std::move(message), offset + within), path_);
  };
  if (check_of(bytes) != load_le<std::uint32_t>(at + kRowCheck))
    return fail(fmt::format("checksum of row {} does not match", index), kRowCheck);
  LogitsRow row{.token = load_le<std::uint32_t>(at), .n_before = load_le<std::uint32_t>(at + 4), .score = {}};
  row.score.log_sum = load_le<double>(at + 8);
  row.score.max = load_le<double>(at + 16);
  row.score.nll = load_le<double>(at + 24);
  for (std::size_t i = 0; i < kTopTokens; ++i) {
    row.score.top[i] = load_le<std::uint32_t>(at + 32 + 4 * i);
    if (row.score.top[i] >= header_.vocab && row.score.top[i] != kNoTop)
      return fail(fmt::format("row {} has token {} beyond the vocabulary", index, row.score.top[i]),
                  32 + 4 * i);
  }
  if (row.token >= header_.vocab)
    return fail(fmt::format("row {} has token {} beyond the vocabulary", index, row.token), 0);
  if (!(row.score.log_sum >= 0 && row.score.nll >= 0) || !std::isfinite(row.score.log_sum + row.score.nll) ||
      !std::isfinite(row.score.max) || row.score.top[0] == kNoTop) {
    return fail(fmt::format("row {} has a score that is no probability", index), 8);
  }
  if (header_.precision == LogitPrecision::bits32) {
    load_le(at + kRowHead, logits);
    if (!std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }))
      return fail(fmt::format("row {} has a logit that is not finite", index), kRowHead);
  } else {
    for (std::size_t i = 0; i < logits.size(); ++i)
      logits[i] = -decode_distance(load_le<std::uint16_t>(at + kRowHead + 2 * i));
    row.score.max = 0;
  }
  return row;
}

}  // namespace ml
