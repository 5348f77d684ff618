#include "catch.hpp"

#include "quantize/ordered_turns.hpp"
#include "util/thread_pool.hpp"

#include <stdexcept>
#include <vector>

using namespace ml;

namespace {

enum class Throw { nowhere, before_the_turn, in_the_turn };

// Pieces that acted, of a job of 40 whose piece 17 throws.
std::vector<std::uint64_t> acted(ThreadPool& pool, Throw where) {
  OrderedTurns turns;
  std::vector<std::uint64_t> pieces;
  const auto job = [&](std::uint64_t piece, std::uint64_t) {
    OrderedTurns::Turn turn(turns, piece);
    if (piece == 17 && where == Throw::before_the_turn) throw std::runtime_error("before");
    turn.take([&] {
      if (piece == 17 && where == Throw::in_the_turn) throw std::runtime_error("in");
      pieces.push_back(piece);
    });
  };
  if (where == Throw::nowhere) {
    pool.run(40, 1, job);
  } else {
    CHECK_THROWS_AS(pool.run(40, 1, job), std::runtime_error);
  }
  return pieces;
}

std::vector<std::uint64_t> first(std::uint64_t n) {
  std::vector<std::uint64_t> pieces;
  for (std::uint64_t i = 0; i < n; ++i) pieces.push_back(i);
  return pieces;
}

}  // namespace

TEST_CASE("pieces act in order, and none after one that throws", "[util]") {
  for (const unsigned n_threads : {1u, 4u}) {
    ThreadPool pool(n_threads);
    for (int round = 0; round < 20; ++round) {
      CHECK(acted(pool, Throw::before_the_turn) == first(17));
      CHECK(acted(pool, Throw::in_the_turn) == first(17));
      CHECK(acted(pool, Throw::nowhere) == first(40));
    }
  }
}
