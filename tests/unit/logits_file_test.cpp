#include "catch.hpp"
#include "data.hpp"
#include "documented_rules.hpp"
#include "folder.hpp"
#include "patched.hpp"

#include <ml/logits_file.hpp>

#include <xxhash.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <vector>

using namespace ml;

namespace {

// Two rows of seven logits: an odd vocabulary, so that rows are padded; distances from 0 to very large.
const std::vector<std::vector<float>> kLogits{{1.5f, -2.25f, 1.5f, 1.4999f, -900.0f, 0.001f, -1e30f},
                                              {-3, -3.00001f, -4, -5, -6, -1e-6f, -20}};

void write_rows(const std::string& path, LogitPrecision precision, std::uint64_t n_rows = 2) {
  auto out = OutputFile::create(path, {.force = true});
  REQUIRE(out);
  auto writer = LogitsWriter::create(
      *out, {.vocab = 7, .precision = precision, .ctx = 8, .stride = 4, .n_rows = n_rows, .tokens_hash = 77});
  REQUIRE(writer);
  for (std::uint32_t i = 0; i < 2; ++i) {
    REQUIRE(writer->write({.token = i, .n_before = 3 * i, .score = *score_token(kLogits[i], i)}, kLogits[i]));
  }
  CHECK(bool(writer->finish()) == (n_rows == 2));
  REQUIRE(out->commit());
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("a logit file gives back what was written", "[evaluation]") {
  const TempFolder folder;
  for (const LogitPrecision precision : {LogitPrecision::bits16, LogitPrecision::bits32}) {
    const std::string path = folder.file("logits");
    write_rows(path, precision);
    CHECK(LogitsFile::sniff(path));
    const auto file = LogitsFile::open(path);
    REQUIRE(file);
    CHECK(file->header().n_rows == 2);
    CHECK(file->header().tokens_hash == 77);
    CHECK(file->header().ctx == 8);
    for (std::uint32_t i = 0; i < 2; ++i) {
      std::vector<float> logits(7);
      const auto row = file->read(i, logits);
      REQUIRE(row);
      const TokenScore score = *score_token(kLogits[i], i);
      CHECK(row->token == i);
      CHECK(row->n_before == 3 * i);
      CHECK(row->score.nll == score.nll);
      CHECK(row->score.log_sum == score.log_sum);
      CHECK(row->score.top == score.top);
      if (precision == LogitPrecision::bits32) {
        CHECK(logits == kLogits[i]);
        CHECK(row->score.max == score.max);
        continue;
      }
      for (std::size_t k = 0; k < 7; ++k) {
        const double distance = score.max - static_cast<double>(kLogits[i][k]);
        const double kept = -static_cast<double>(logits[k]);
        if (distance > 131008) {
          CHECK(kept == 131008);
        } else {
          CHECK(std::fabs(kept - distance) <=
                std::max(distance * 0x1p-12, 0x1p-26) + 2e-7 * std::fabs(score.max));
        }
      }
    }
  }
  CHECK_FALSE(LogitsFile::sniff(folder.file("absent")));
  const auto opened = open_model_or_logits(folder.file("logits"));
  REQUIRE(opened);
  CHECK(std::get<LogitsFile>(*opened).header().vocab == 7);
  const auto model = open_model_or_logits(data_path("models/stories260K"));
  REQUIRE(model);
  CHECK(std::get<Model>(*model).format() == "folder");
  CHECK(open_model_or_logits(folder.file("absent")).error().status == Status::io);
  write_rows(folder.file("short"), LogitPrecision::bits16, 3);
  CHECK_FALSE(LogitsFile::open(folder.file("short")));
}

TEST_CASE("every truncation and every changed byte of a logit file is refused", "[evaluation]") {
  const TempFolder folder;
  const std::string path = folder.file("logits");
  const std::string changed_path = folder.file("changed");
  write_rows(path, LogitPrecision::bits16);
  const std::string bytes = read_file(path);
  const auto sound = [&] {
    const auto file = LogitsFile::open(changed_path);
    if (!file) return false;
    std::vector<float> logits(file->header().vocab);
    for (std::uint64_t i = 0; i < file->header().n_rows; ++i) {
      if (!file->read(i, logits)) return false;
    }
    return true;
  };
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    INFO("byte " << n);
    write_bytes(changed_path, bytes.substr(0, n));
    CHECK_FALSE(sound());
    std::string changed = bytes;
    changed[n] = static_cast<char>(changed[n] ^ 0x10);
    write_bytes(changed_path, changed);
    CHECK_FALSE(sound());
  }
  write_bytes(changed_path, bytes + "x");
  CHECK_FALSE(sound());
  write_bytes(changed_path, bytes);
  CHECK(sound());
}

namespace {

// With checks that are right, as whoever means harm writes them.
std::string sealed(std::string bytes, std::size_t row_bytes) {
  if (bytes.size() < 48) return bytes;
  bytes = patched(bytes, 40, XXH3_64bits(bytes.data(), 40));
  for (std::size_t at = 48; at + row_bytes <= bytes.size(); at += row_bytes) {
    const std::uint64_t seed = XXH3_64bits(bytes.data() + at, 52);
    const auto check =
        static_cast<std::uint32_t>(XXH3_64bits_withSeed(bytes.data() + at + 56, row_bytes - 56, seed));
    bytes = patched(bytes, at + 52, check);
  }
  return bytes;
}

}  // namespace

TEST_CASE("every rule of a logit file has its message where the checks are right", "[evaluation]") {
  const TempFolder folder;
  const std::string path = folder.file("logits");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  struct Row {
    const char* rule;  // of mllogits(5), VALIDATION
    LogitPrecision precision;
    std::size_t at;  // the offset that the message names
    std::string message;
    std::function<std::string(const std::string&)> change;
  };
  const auto set = [](std::size_t at, auto value) {
    return [=](const std::string& bytes) { return patched(bytes, at, value); };
  };
  const LogitPrecision narrow = LogitPrecision::bits16, wide = LogitPrecision::bits32;
  const std::size_t first = 48, second = 48 + 72;  // rows of 56 bytes and 7 logits of two
  const std::vector<Row> rows{
      {"the file is shorter than the header", narrow, 47, "file is 47 bytes, a logit file needs at least 48",
       [](const std::string& bytes) { return bytes.substr(0, 47); }},
      {"the magic is not MLL1", narrow, 0, "magic must be MLL1", set(0, 'm')},
      {"the version is not 1", narrow, 4, "version is 0, must be 1", set(4, 0u)},
      {"the version is not 1", narrow, 4, "version is 2, must be 1", set(4, 2u)},
      {"vocab is 0", narrow, 8, "vocab is 0, must be at least 1", set(8, 0u)},
      {"the file is not as long as its rows", narrow, 192, "file is 192 bytes, 2 rows need 17179869344",
       set(8, 0xffffffffu)},
      {"bits of a logit are neither 16 nor 32", narrow, 12, "bits of a logit are 0, must be 16 or 32",
       set(12, 0u)},
      {"bits of a logit are neither 16 nor 32", narrow, 12, "bits of a logit are 17, must be 16 or 32",
       set(12, 17u)},
      {"bits of a logit are neither 16 nor 32", narrow, 12,
       "bits of a logit are 4294967295, must be 16 or 32", set(12, 0xffffffffu)},
      {"the file is not as long as its rows", narrow, 192, "file is 192 bytes, 2 rows need 224",
       set(12, 32u)},
      {"stride is 0 or above ctx", narrow, 20, "stride is 4, must be from 1 to the ctx of 3", set(16, 3u)},
      {"stride is 0 or above ctx", narrow, 20, "stride is 0, must be from 1 to the ctx of 8", set(20, 0u)},
      {"stride is 0 or above ctx", narrow, 20, "stride is 4294967295, must be from 1 to the ctx of 8",
       set(20, 0xffffffffu)},
      {"the file is not as long as its rows", narrow, 48, "file is 192 bytes, 0 rows need 48",
       set(24, std::uint64_t(0))},
      {"the file is not as long as its rows", narrow, 192, "file is 192 bytes, 3 rows need 264",
       set(24, std::uint64_t(3))},
      {"the file is not as long as its rows", narrow, 192,
       "file is 192 bytes, 18446744073709551615 rows need more than 2^64", set(24, ~std::uint64_t(0))},
      {"the file is not as long as its rows", narrow, 192,
       "file is 192 bytes, 256204778801521551 rows need more than 2^64",
       set(24, std::uint64_t(256204778801521551))},  // 72 times that is just beyond 2^64
      {"a token is not below vocab", narrow, first, "row 0 has token 7 beyond the vocabulary",
       set(first, 7u)},
      {"a token is not below vocab", narrow, second, "row 1 has token 4294967295 beyond the vocabulary",
       set(second, 0xffffffffu)},
      {"a score is no probability", narrow, first + 8, "row 0 has a score that is no probability",
       set(first + 8, nan)},
      {"a score is no probability", narrow, first + 8, "row 0 has a score that is no probability",
       set(first + 8, -1.0)},
      {"a score is no probability", narrow, first + 8, "row 0 has a score that is no probability",
       set(first + 16, infinity)},
      {"a score is no probability", narrow, second + 8, "row 1 has a score that is no probability",
       set(second + 24, infinity)},
      {"a score is no probability", narrow, second + 8, "row 1 has a score that is no probability",
       set(second + 24, -1e-9)},
      {"a score is no probability", narrow, first + 8, "row 0 has a score that is no probability",
       set(first + 32, 0xffffffffu)},
      {"a token is not below vocab", narrow, first + 32, "row 0 has token 7 beyond the vocabulary",
       set(first + 32, 7u)},
      {"a token is not below vocab", narrow, second + 48, "row 1 has token 4294967294 beyond the vocabulary",
       set(second + 48, 0xfffffffeu)},
      {"a logit is not finite", wide, first + 56, "row 0 has a logit that is not finite",
       set(first + 56 + 8, 0x7fc00000u)},
      {"a logit is not finite", wide, 48 + 88 + 56, "row 1 has a logit that is not finite",
       set(48 + 88 + 56 + 24, 0xff800000u)},
  };
  const auto error_of = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    const auto file = LogitsFile::open(path);
    if (!file) return file.error();
    std::vector<float> logits(file->header().vocab);
    for (std::uint64_t i = 0; i < file->header().n_rows; ++i) {
      if (const auto read = file->read(i, logits); !read) return read.error();
    }
    FAIL("nothing is wrong");
    return Error();
  };
  DocumentedRules rules("mllogits");
  for (const Row& row : rows) {
    CAPTURE(row.message);
    write_rows(path, row.precision);
    const Error error = error_of(sealed(row.change(read_file(path)), row.precision == narrow ? 72 : 88));
    CHECK(error.message == row.message);
    CHECK(error.offset == row.at);
    CHECK(error.path == path);
    rules.met(row.rule, describe(error));
  }
  write_rows(path, narrow);
  const std::string sound = read_file(path);
  rules.met("the check of the header is wrong", describe(error_of(patched(sound, 16, 7u))));
  rules.met("the check of a row is wrong", describe(error_of(patched(sound, first + 4, 7u))));
  rules.check_all_met();
}
