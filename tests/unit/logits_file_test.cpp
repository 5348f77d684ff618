#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"

#include <ml/logits_file.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
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
