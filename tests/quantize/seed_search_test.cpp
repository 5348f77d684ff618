// The pruned search finds what trying every seed finds, ties included.

#include "quantize/seed_search.hpp"
#include "catch.hpp"
#include "data.hpp"
#include "kernels/targets.hpp"
#include "util/half.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

using namespace ml;

namespace {

constexpr std::size_t kN = SeedSearch::kBlocks;

float bf16(float x) { return bf16_to_f32(f32_to_bf16(x)); }

// Kinds of blocks that are hard on bounds: ties (few distinct values), exact fits, extreme ranges.
std::vector<float> make_blocks(int kind, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0f, 0.02f);
  std::vector<float> x(kN * 8);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float value = normal(random);
    switch (kind) {
      case 0: break;
      case 1: value = static_cast<float>(static_cast<int>(random() % 3) - 1); break;  // -1, 0, 1
      case 2: value = i % 8 == random() % 8 ? 1.0f : 0.0f; break;                     // nearly empty
      case 3: value = value * value * value * 1e5f; break;                            // heavy tails
      case 4: value = std::ldexp(value, -static_cast<int>(i / 8 % 24)); break;        // below the window
      case 5: value = std::ldexp(value, -70); break;                                  // squares near the end
      case 6: value = 1.0f; break;                                                    // one value
      case 7: value = i / 8 % 2 == 0 ? 0.0f : value; break;                           // zero blocks
      case 8: value = std::ldexp(value, 55); break;
    }
    x[i] = bf16(value);
  }
  return x;
}

void require_same(unsigned n_coefs, const SeedTables& tables, const std::vector<float>& weights,
                  Target target) {
  SeedBias bias;
  REQUIRE(bias.add(weights));
  std::vector<float> x = weights;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] * tables.table().scale[i % 8];
  const SeedSearch search(n_coefs, tables, kernels::table_of(target), bias.get());
  std::array<SeedBlockFit, kN> pruned;
  std::array<SeedBlockFit, kN> all;
  search.find(x, pruned.data());
  search.find_by_trying_all(x, all.data());
  for (std::size_t i = 0; i < x.size() / 8; ++i) {
    INFO("block " << i << " P " << n_coefs);
    CHECK(pruned[i].seed == all[i].seed);
    CHECK(pruned[i].q == all[i].q);
    CHECK(pruned[i].code == all[i].code);
    CHECK(pruned[i].error == all[i].error);
  }
}

}  // namespace

TEST_CASE("pruning never changes what is found", "[seedlm]") {
  std::mt19937 random(20);
  for (int kind = 0; kind < (kSanitized ? 2 : 9); ++kind) {
    INFO("kind " << kind);
    const std::vector<float> x = make_blocks(kind, random);
    for (const unsigned n_coefs : {3u, 4u})
      require_same(n_coefs, SeedTables::plain(n_coefs), x, Target::best);
  }
}

TEST_CASE("pruning never changes what is found, with importance", "[seedlm]") {
  std::mt19937 random(21);
  // Even columns, columns of very different weight, all but a few nearly without.
  const float scales[][8] = {{1, 0.5f, 2, 1, 0.7f, 1.3f, 0.9f, 1.1f},
                             {1e-3f, 1, 30, 1e-2f, 1, 5, 0.1f, 2},
                             {1e-6f, 1e-6f, 1, 1e-6f, 1e-6f, 1, 1e-6f, 1}};
  for (const auto& scale : scales) {
    const std::vector<float> x = make_blocks(0, random);
    for (const unsigned n_coefs : {3u, 4u})
      require_same(n_coefs, SeedTables(n_coefs, scale), x, Target::best);
    if (kSanitized) return;
  }
}

TEST_CASE("every target finds the same seeds", "[seedlm]") {
  std::mt19937 random(22);
  const std::vector<float> x = make_blocks(3, random);
  SeedBias bias;
  REQUIRE(bias.add(x));
  for (const unsigned n_coefs : {3u, 4u}) {
    std::array<SeedBlockFit, kN> first;
    SeedSearch(n_coefs, SeedTables::plain(n_coefs), kernels::table_of(Target::scalar), bias.get())
        .find(x, first.data());
    for (const Target target : available_targets()) {
      std::array<SeedBlockFit, kN> fits;
      SeedSearch(n_coefs, SeedTables::plain(n_coefs), kernels::table_of(target), bias.get())
          .find(x, fits.data());
      for (std::size_t i = 0; i < kN; ++i) {
        CHECK(fits[i].seed == first[i].seed);
        CHECK(fits[i].q == first[i].q);
        CHECK(fits[i].code == first[i].code);
      }
    }
  }
}

// The bound itself: a seed that a scan leaves out has an error above what was asked for.
TEST_CASE("the scan leaves no seed out that reaches the need", "[seedlm]") {
  std::mt19937 random(23);
  for (const unsigned n_coefs : {3u, 4u}) {
    const SeedTables& tables = SeedTables::plain(n_coefs);
    const std::vector<float> x = make_blocks(0, random);
    SeedBias bias;
    REQUIRE(bias.add(x));
    for (const Target target : available_targets()) {
      const kernels::Table& table = kernels::table_of(target);
      kernels::SeedBlocks blocks{};
      for (std::uint32_t lane = 0; lane < kernels::kSeedLanes; ++lane) {
        for (std::uint32_t c = 0; c < 8; ++c) {
          blocks.x[c][lane] = x[lane * 8 + c];
          blocks.norm[lane] = blocks.norm[lane] + x[lane * 8 + c] * x[lane * 8 + c];
        }
        for (std::uint32_t c = 0; c < 8; ++c)
          blocks.taps[c][lane] = blocks.x[c][lane] / std::sqrt(blocks.norm[lane]);
        blocks.need[lane] = 0.97f;
      }
      std::vector<std::uint16_t> found(kernels::kSeedScanRoom * 65535);
      found.resize(table.scan_seeds[n_coefs - 3](tables.table(), 0, 65535, blocks, found.data()));
      std::vector<bool> kept(65535);
      for (const std::uint16_t position : found) kept[position] = true;
      for (const std::uint16_t position : tables.hard()) kept[position] = true;
      std::uint64_t wrong = 0;
      std::uint64_t left_out = 0;
      for (const std::uint16_t position : tables.all()) {
        if (kept[position]) continue;
        ++left_out;
        std::fill_n(blocks.error, kernels::kSeedLanes, std::numeric_limits<float>::infinity());
        table.try_seeds[n_coefs - 3](tables.table(), &position, 1, tables.seeds(), bias.get(), blocks);
        for (std::uint32_t lane = 0; lane < kernels::kSeedLanes; ++lane)
          wrong += blocks.error[lane] <= 0.03f * blocks.norm[lane] ? 1 : 0;
      }
      CHECK(wrong == 0);
      CHECK(left_out > 10000);
      if (kSanitized) break;
    }
  }
}
