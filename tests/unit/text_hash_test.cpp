#include "util/text_hash.hpp"
#include "catch.hpp"

#include <set>
#include <string>
#include <vector>

using namespace ml;

namespace {

// A table of a hostile file: of many keys those that one hash puts into the first of 1024 places. Returns
// how many places the other hash puts them into.
template <class Key, class Hash>
std::size_t n_places(const std::vector<Key>& keys, const Hash& known, const Hash& other) {
  const auto place = [](std::uint64_t hash) { return hash >> 54; };
  std::set<std::uint64_t> places;
  std::size_t n_chosen = 0;
  for (const Key& key : keys) {
    if (place(known(key)) != 0) continue;
    ++n_chosen;
    places.insert(place(other(key)));
  }
  REQUIRE(n_chosen > 100);
  return 1000 * places.size() / n_chosen;
}

}  // namespace

TEST_CASE("the hashes of a process take its seed", "[hash]") {
  CHECK(random_bits() != random_bits());
  CHECK(hash_seed() == hash_seed());
  CHECK(TextHash()("name") == TextHash{hash_seed()}("name"));
  CHECK(TextHash()("name") != TextHash{hash_seed() + 1}("name"));
  CHECK(TextHash()("name") != XXH3_64bits("name", 4));
  CHECK(NumberHash()(258) == NumberHash(hash_seed())(258));
  CHECK(NumberHash()(258) != NumberHash(hash_seed() + 2)(258));
  TextMap<int, std::string> map = {{"a", 1}, {"b", 2}};
  CHECK(map.hash_function()("name") == TextHash()("name"));
  CHECK(map.find(std::string_view("b"))->second == 2);
}

TEST_CASE("keys that share a place with one seed do not with another", "[hash]") {
  std::vector<std::string> texts;
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t left = 0; left < 400; ++left) {
    for (std::uint64_t right = 1000; right < 1500; ++right) {
      texts.push_back(std::to_string(left) + '.' + std::to_string(right));
      numbers.push_back(left << 32 | right);
    }
  }
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    CHECK(n_places(texts, TextHash{seed}, TextHash{seed}) < 10);
    CHECK(n_places(texts, TextHash{seed}, TextHash{seed * 0x9e3779b97f4a7c15u}) > 800);
    CHECK(n_places(numbers, NumberHash(seed), NumberHash(seed * 0x9e3779b97f4a7c15u)) > 600);
  }
}
