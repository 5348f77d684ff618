#include "util/half.hpp"
#include "catch.hpp"

#include <cmath>

using namespace ml;

TEST_CASE("every half survives the way to float and back", "[util]") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_f32(half);
    if (std::isnan(value)) {
      CHECK(f32_to_f16(value) == (half | 0x200u));
    } else {
      CHECK(f32_to_f16(value) == half);
    }
  }
}

TEST_CASE("floats round to the nearest half, ties to even", "[util]") {
  CHECK(f32_to_f16(1.0f + 0x1p-11f) == 0x3c00);             // tie, even below
  CHECK(f32_to_f16(1.0f + 0x1p-10f + 0x1p-11f) == 0x3c02);  // tie, even above
  CHECK(f32_to_f16(65504.0f) == 0x7bff);
  CHECK(f32_to_f16(65519.996f) == 0x7bff);
  CHECK(f32_to_f16(65520.0f) == 0x7c00);
  CHECK(f32_to_f16(-0.0f) == 0x8000);
  CHECK(f32_to_f16(0x1p-24f) == 0x0001);
  CHECK(f32_to_f16(0x1p-25f) == 0x0000);  // tie to even zero
  CHECK(f32_to_f16(0x1.8p-25f) == 0x0001);
  CHECK(f32_to_f16(0x1.ff8p-15f) == 0x03ff);  // the largest subnormal
  CHECK(f32_to_f16(0x1.ffbp-15f) == 0x03ff);
  CHECK(f32_to_f16(0x1.ffcp-15f) == 0x0400);  // tie, to the smallest normal
}
