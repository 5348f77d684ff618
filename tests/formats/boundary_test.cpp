// Every field that a manual page documents at the bounds of its type, and every file cut where an array
// begins or ends: each is sound, or refused by one clear error.

#include "boundary.hpp"
#include "catch.hpp"
#include "convert/tokenizer.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "formats/imatrix.hpp"
#include "formats/mlb_layout.hpp"
#include "formats/mlt.hpp"
#include "formats/mog_layout.hpp"
#include "mlb_builder.hpp"
#include "mog/mog_support.hpp"

#include <ml/inspect.hpp>
#include <ml/logits_file.hpp>

#include <xxhash.h>

#include <functional>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

using namespace ml;
using namespace boundary;

namespace {

// The rows of a page's n-th table of fields, counted from 0: a table of cells, or one laid out with blanks.
std::vector<Field> documented(const std::string& page, std::size_t n) {
  std::istringstream in(
      std::regex_replace(read_file(data_path("../../man/" + page + ".5.scd")), std::regex("\\\\"), ""));
  std::vector<Field> fields;
  const std::regex laid_out("^ *([0-9]+)  ([a-z0-9]+(?:\\[[^ ]*\\])?) +([a-z0-9_]+).*");
  std::size_t tables = 0;
  bool inside = false, cells = false;
  std::string line, type, name;
  while (std::getline(in, line)) {
    if (!inside) {
      cells = line.starts_with("[[ *offset*");
      inside = (cells || line.starts_with("offset  type")) && tables++ == n;
      continue;
    }
    std::smatch match;
    if (cells && line.starts_with(":[")) continue;
    if (cells && line.starts_with("|  ")) {
      if (line.find_first_not_of("0123456789", 3) != line.npos) break;
      std::getline(in, type);
      std::getline(in, name);
      fields.push_back({std::stoull(line.substr(3)), type.substr(3), name.substr(3)});
    } else if (!cells && std::regex_match(line, match, laid_out)) {
      fields.push_back({std::stoull(match[1]), match[2], match[3]});
    } else if (line.empty() || line.starts_with("```")) {
      break;
    }
  }
  return fields;
}

std::vector<Field> moved(std::vector<Field> fields, std::uint64_t offset) {
  for (Field& field : fields) field.offset += offset;
  return fields;
}

Format mlb() {
  return {"mlb", MlbBuilder::everything().build(), documented("mlb", 0), {}, [](const std::string& file) {
            return error_of(read_mlb(bytes_of(file)));
          }};
}

Format mlt() {
  const auto bytes = write_mlt(load_tokenizer(data_path("models/stories260K"), {})->contents);
  REQUIRE(bytes);
  return {"mlt",
          {reinterpret_cast<const char*>(bytes->data()), bytes->size()},
          documented("mlt", 0),
          {},
          [](const std::string& file) { return error_of(read_mlt(bytes_of(file))); }};
}

Format mli(const TempFolder& folder) {
  const ImatrixShape shape{.n_layers = 2, .dim = 32, .hidden_dim = 64, .q_dim = 96};
  Imatrix imatrix{.shape = shape, .tokens = 10, .classifier_tokens = 3, .sums = {}};
  imatrix.sums.assign(shape.n_sums(), 1.5);
  auto out = OutputFile::create(folder.file("a.mli"), {});
  REQUIRE(out);
  REQUIRE(write_imatrix(imatrix, *out));
  REQUIRE(out->commit());
  return {"mli", read_file(folder.file("a.mli")), documented("mli", 0), {}, [](const std::string& file) {
            return error_of(read_imatrix(bytes_of(file)));
          }};
}

constexpr std::uint64_t kLogitRow = 72;  // 7 logits of 16 bits

std::string sealed_logits(std::string file) {
  for (std::uint64_t at = 48; at + kLogitRow <= file.size(); at += kLogitRow) {
    const std::uint64_t seed = XXH3_64bits(file.data() + at, 52);
    file = patched(
        file, at + 52,
        static_cast<std::uint32_t>(XXH3_64bits_withSeed(file.data() + at + 56, kLogitRow - 56, seed)));
  }
  return file.size() < 48 ? file : patched(file, 40, XXH3_64bits(file.data(), 40));
}

std::optional<Error> logits_error(const std::string& path) {
  const auto file = LogitsFile::open(path);
  if (!file) return file.error();
  std::vector<float> logits(file->header().vocab);
  for (std::uint64_t i = 0; i < file->header().n_rows; ++i)
    if (const auto row = file->read(i, logits); !row) return row.error();
  return {};
}

Format logits(const TempFolder& folder) {
  const std::string path = folder.file("logits");
  auto out = OutputFile::create(path, {});
  REQUIRE(out);
  auto writer = LogitsWriter::create(*out, {.vocab = 7,
                                            .precision = LogitPrecision::bits16,
                                            .ctx = 8,
                                            .stride = 4,
                                            .n_rows = 2,
                                            .tokens_hash = 77});
  REQUIRE(writer);
  const std::vector<float> row{1, 2, 3, 4, 5, 6, 7};
  for (int i = 0; i < 2; ++i)
    REQUIRE(writer->write({.token = 1, .n_before = 0, .score = *score_token(row, 1)}, row));
  REQUIRE(writer->finish());
  REQUIRE(out->commit());
  std::vector<Field> fields = documented("mllogits", 0);
  for (const Field& field : moved(documented("mllogits", 1), 48)) fields.push_back(field);
  // The checks are made right again, as whoever means harm would.
  std::erase_if(fields, [](const Field& field) { return field.name == "check"; });
  return {"mllogits",
          read_file(path),
          fields,
          {"tokens' hash", "tokens before", "logits"},
          [&folder](const std::string& file) {
            folder.write("changed", sealed_logits(file));
            return logits_error(folder.file("changed"));
          }};
}

Format mog(const TempFolder& folder) {
  pack_mog(recipe_path("qwen3_5_text"), data_path("models/qwen35-stories"), folder.file("a.mog"));
  const std::string file = read_file(folder.file("a.mog"));
  const MogPreamble preamble = read_mog(bytes_of(file))->preamble;
  std::vector<Field> fields = documented("mog", 0);
  for (const Field& field : documented("mog", 2)) fields.push_back(field);
  for (const Field& field : moved(documented("mog", 3), preamble.tokenizer_offset)) fields.push_back(field);
  // The embedding's record.
  for (const Field& field : moved(documented("mog", 4), preamble.directory_offset)) fields.push_back(field);
  return {
      "mog", file, fields, {}, [](const std::string& bytes) { return error_of(read_mog(bytes_of(bytes))); }};
}

}  // namespace

TEST_CASE("every documented field of every format at the bounds of its type", "[formats]") {
  const TempFolder folder;
  for (const Format& format : {mlb(), mlt(), mli(folder), logits(folder), mog(folder)}) check_fields(format);
}

TEST_CASE("every file cut where a field, an array or its scales begin or end is refused", "[formats]") {
  const TempFolder folder;
  std::vector<Format> formats{mlb(), mlt(), mli(folder), mog(folder)};
  formats.push_back({"gguf", read_file(gguf_path("llama2-mha-q8_0.gguf")), {}, {}, {}});
  formats.push_back({"safetensors", read_file(data_path("oracle/llama2-mha/model.safetensors")), {}, {}, {}});
  for (const Format& format : formats) {
    CAPTURE(format.name);
    const std::string path = folder.file("cut");
    folder.write("cut", format.file);
    const auto whole = inspect(path);
    REQUIRE(whole);
    std::set<std::uint64_t> cuts;
    std::uint64_t end = 0;
    const auto add = [&](std::uint64_t begin, std::uint64_t n_bytes) {
      for (const std::uint64_t at : {begin - 1, begin, begin + 1, begin + n_bytes - 1, begin + n_bytes})
        cuts.insert(at);
      end = std::max(end, begin + n_bytes);
    };
    for (const Field& field : format.fields) add(field.offset, 1);
    for (const InfoArray& array : whole->arrays) {
      add(array.offset, array.data.size());
      if (!array.scales.empty()) add(array.scale_offset, array.scales.size());
    }
    for (std::uint64_t i = 0; i < 64; ++i) cuts.insert(format.file.size() * i / 64);
    for (const std::uint64_t at : cuts) {
      if (at >= std::max<std::uint64_t>(end, 1) || at >= format.file.size()) continue;
      CAPTURE(at);
      folder.write("cut", format.file.substr(0, at));
      const auto cut = inspect(path);
      REQUIRE_FALSE(cut);
      check_clear(cut.error(), format.file.size());
      CHECK(cut.error().path == path);
      const auto checked = inspect(path, {.check = true});
      CHECK((!checked || !checked->defects.empty()));
    }
  }
}
