#pragma once

#include "catch.hpp"
#include "data.hpp"

#include <ml/tokenizer.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

/// One file of golden ids.
struct GoldenRow {
  std::string name;
  bool decodes_alike = true;  // false: decoder and prefix rule of the tokenizer.json disagree
};

inline void check_golden_line(const ml::Tokenizer& tokenizer, const nlohmann::json& line,
                              bool decodes_alike) {
  const auto text = line["text"].get<std::string>();
  const auto ids = line["ids_no_special"].get<std::vector<std::uint32_t>>();
  INFO(line.dump());
  for (const ml::Target target : ml::available_targets()) {
    CHECK(tokenizer.encode(text, {.bos = false, .target = target}) == ids);
  }
  CHECK(tokenizer.encode(text) == line["ids_with_special"].get<std::vector<std::uint32_t>>());
  if (!decodes_alike) return;
  const auto decoded = line["decoded"].get<std::string>();
  CHECK(tokenizer.decode(ids) == decoded);
  const auto with_special = line.value("decoded_with_special", decoded);
  CHECK(tokenizer.decode(line["ids_with_special"].get<std::vector<std::uint32_t>>()) == with_special);
  ml::StreamDecoder stream(tokenizer);
  std::string joined;
  for (const std::uint32_t id : ids) {
    const std::string piece = stream.push({&id, 1});
    CHECK_FALSE(ml::find_invalid_utf8(piece));
    joined += piece;
  }
  CHECK(joined + stream.finish() == decoded);
}

/// @return the number of lines
inline int check_golden(const std::string& tokenizer_path, const GoldenRow& row) {
  INFO(tokenizer_path);
  const auto tokenizer = ml::Tokenizer::open(tokenizer_path);
  if (!tokenizer) FAIL(ml::describe(tokenizer.error()));
  std::ifstream lines(std::string(std::getenv("ML_TEST_GOLDEN")) + "/" + row.name + ".jsonl");
  int n_lines = 0;
  for (std::string line; std::getline(lines, line); ++n_lines) {
    check_golden_line(*tokenizer, nlohmann::json::parse(line), row.decodes_alike);
  }
  return n_lines;
}
