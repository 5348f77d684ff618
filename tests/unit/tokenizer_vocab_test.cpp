#include "catch.hpp"

#include "tokenizer_source.hpp"

#include <array>

// What becomes of a tokenizer.json's vocabulary, merges and added tokens (mlt(5), CONVERSION).

using nlohmann::json;

TEST_CASE("added tokens that match normalized text must not meet the others", "[tokenizer][convert]") {
  json document = source("l3_overlap_added");
  const auto refused = [&](std::size_t i) {
    json edited = document;
    edited["added_tokens"][i]["normalized"] = true;
    return !load(edited.dump());
  };
  CHECK(refused(0));        // <a> is in <a>b
  CHECK(refused(2));        // b< ends where <a> begins
  CHECK(refused(5));        // xyz ends as yzw begins
  CHECK_FALSE(refused(7));  // touches no other
  document["normalizer"] = {{"type", "NFC"}};
  CHECK(refused(7));
}

TEST_CASE("a vocabulary is cut where only added tokens go", "[tokenizer][convert]") {
  const std::string path = source_path("l3_bos");
  const auto cut = ml::pack_tokenizer(path, {.max_vocab = 1760});
  REQUIRE(cut);
  const auto tokenizer = ml::Tokenizer::from_bytes(cut->bytes);
  REQUIRE(tokenizer);
  CHECK(tokenizer->n_vocab() == 1760);
  CHECK(cut->notes.size() == 2);
  const auto whole = ml::pack_tokenizer(path, {.max_vocab = 100000});
  REQUIRE(whole);
  REQUIRE(whole->notes.size() == 1);
  CHECK(whole->notes[0].starts_with("no end-of-text token is known"));
  for (const std::uint32_t limit : {1756u, 1000u, 0u}) {
    const auto refused = ml::pack_tokenizer(path, {.max_vocab = limit});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == ml::Status::limit);
  }
}

TEST_CASE("merges as texts and as pairs are the same rules", "[tokenizer][convert]") {
  json document = source("l3_bos");
  const auto pairs = load(document.dump());
  json texts = json::array({"#version: 0.2"});
  for (const json& row : document["model"]["merges"]) {
    texts.push_back(row[0].get<std::string>() + " " + row[1].get<std::string>());
  }
  document["model"]["merges"] = texts;
  document["model"].erase("type");  // as old files have it
  const auto lines = load(document.dump());
  REQUIRE(pairs);
  REQUIRE(lines);
  CHECK(*ml::write_mlt(pairs->contents) == *ml::write_mlt(lines->contents));
  document["model"]["merges"].push_back({"a", "b"});
  CHECK_FALSE(load(document.dump()));
}

TEST_CASE("a model type is told by the model's shape where it has none", "[tokenizer][convert]") {
  json document = source("l3_bos");
  document["model"].erase("type");
  document["model"].erase("merges");  // as WordPiece and WordLevel have it
  const auto refused = load(document.dump());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("model.merges:"));
}

TEST_CASE("merges part at U+0020 alone", "[tokenizer][convert]") {
  json document = source("sp_legacy");
  json texts = json::array();
  for (const json& row : document["model"]["merges"])
    texts.push_back(row[0].get<std::string>() + " " + row[1].get<std::string>());
  texts.push_back("\u00A0 \u00A0");
  document["model"]["merges"] = texts;
  document["model"]["vocab"]["\u00A0"] = 1262;
  document["model"]["vocab"]["\u00A0\u00A0"] = 1263;
  const auto loaded = load(document.dump());
  REQUIRE(loaded);
  const ml::MltMerge& merge = loaded->contents.merges.back();
  CHECK(std::array{merge.left, merge.right, merge.merged} == std::array{1262u, 1262u, 1263u});
}

TEST_CASE("of a pair that is listed twice the last rank counts", "[tokenizer][convert]") {
  json document = source("l3_bos");
  const auto plain = load(document.dump());
  REQUIRE(plain);
  const json first = document["model"]["merges"][0];
  document["model"]["merges"].push_back(first);
  const auto twice = load(document.dump());
  document["model"]["merges"].erase(0);
  const auto moved = load(document.dump());
  REQUIRE(twice);
  REQUIRE(moved);
  CHECK(*ml::write_mlt(twice->contents) == *ml::write_mlt(moved->contents));
  CHECK(*ml::write_mlt(twice->contents) != *ml::write_mlt(plain->contents));
}

TEST_CASE("a whole piece is its token if merges are ignored, and only then", "[tokenizer][convert]") {
  json document = source("l3_bos");
  json& merges = document["model"]["merges"];
  const json last = merges.back();
  const std::string left = last[0], right = last[1];
  const auto id = document["model"]["vocab"][left + right].get<std::uint32_t>();
  json kept = json::array();
  for (const json& row : merges) {
    const std::string made = row[0].get<std::string>() + row[1].get<std::string>();
    if (made != left + right && row[0] != left + right && row[1] != left + right) kept.push_back(row);
  }
  merges = kept;
  for (const bool ignored : {false, true}) {
    document["model"]["ignore_merges"] = ignored;
    const auto tokenizer = ml::Tokenizer::from_bytes(ml::as_bytes(document.dump()));
    REQUIRE(tokenizer);
    CHECK((tokenizer->flags() & ml::kMltIgnoreMerges) == (ignored ? ml::kMltIgnoreMerges : 0));
    const std::string text = tokenizer->decode(std::vector{id});
    const auto ids = tokenizer->encode(text, {.bos = false});
    CHECK((ids == std::vector{id}) == ignored);
  }

  // A token whose text is none of bytes: no text reaches it.
  document["model"]["vocab"].erase(left + right);
  document["model"]["vocab"]["\uFF5C"] = id;
  document["model"]["ignore_merges"] = false;
  const auto tokenizer = ml::Tokenizer::from_bytes(ml::as_bytes(document.dump()));
  REQUIRE(tokenizer);
  CHECK(tokenizer->encode("\uFF5C", {.bos = false}) != std::vector{id});
  CHECK(tokenizer->decode(std::vector{id}) == "\uFF5C");
  document["model"]["ignore_merges"] = true;
  const auto refused = load(document.dump());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("model.vocab[\"\uFF5C\"]:"));
}

TEST_CASE("of equal added tokens the last says whether text is normalized", "[tokenizer][convert]") {
  json document = source("l3_nfc");
  json& added = document["added_tokens"];
  added.push_back(added[3]);
  added[3]["normalized"] = true;
  CHECK(load(document.dump()));
  std::swap(added[3], added[5]);
  const auto refused = load(document.dump());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("added_tokens[3].normalized:"));
}

TEST_CASE("of equal added tokens the first counts, one without text is skipped", "[tokenizer][convert]") {
  json document = source("l3_bos");
  const auto plain = load(document.dump());
  REQUIRE(plain);
  json again = document["added_tokens"][0];
  document["added_tokens"].push_back(again);
  again["content"] = "";
  document["added_tokens"].push_back(again);
  const auto loaded = load(document.dump());
  REQUIRE(loaded);
  CHECK(*ml::write_mlt(loaded->contents) == *ml::write_mlt(plain->contents));
}
