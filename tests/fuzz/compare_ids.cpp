// Compares ids and texts with those of another tokenizer: compare_ids TOKENIZER < LINES
// A line is {"text", "ids_no_special", "decoded", perhaps "ids_with_special"}. Each text is encoded on every
// target, and once with a copy that ends where the memory does. Exit status 1: something differs.

#include <ml/target.hpp>
#include <ml/tokenizer.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

namespace {

using Ids = std::vector<std::uint32_t>;

bool same(const ml::Tokenizer& tokenizer, const nlohmann::json& line, bool check_text) {
  const auto text = line["text"].get<std::string>();
  const auto ids = line["ids_no_special"].get<Ids>();
  const std::unique_ptr<char[]> copy(new char[text.size()]);
  text.copy(copy.get(), text.size());
  for (const ml::Target target : ml::available_targets()) {
    if (tokenizer.encode({copy.get(), text.size()}, {.bos = false, .target = target}) != ids) return false;
  }
  if (line.contains("ids_with_special") && tokenizer.encode(text) != line["ids_with_special"].get<Ids>()) {
    return false;
  }
  if (!check_text) return true;
  const auto decoded = line["decoded"].get<std::string>();
  ml::StreamDecoder stream(tokenizer);
  std::string joined;
  for (const std::uint32_t id : ids) joined += stream.push({&id, 1});
  return tokenizer.decode(ids) == decoded && joined + stream.finish() == decoded;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool check_text = argc == 2;
  const auto tokenizer = ml::Tokenizer::open(argv[1]);
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", ml::describe(tokenizer.error()));
    return 2;
  }
  std::size_t n_lines = 0, n_different = 0;
  for (std::string line; std::getline(std::cin, line); ++n_lines) {
    if (same(*tokenizer, nlohmann::json::parse(line), check_text)) continue;
    if (++n_different <= 5) fmt::print("{}\n", line);
  }
  fmt::print("{} of {} texts differ\n", n_different, n_lines);
  return n_different == 0 && n_lines > 0 ? 0 : 1;
}
