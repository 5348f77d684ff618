#include "util/checked.hpp"
#include "catch.hpp"

#include <new>

using namespace ml;

TEST_CASE("sizes of vectors that no memory holds are refused, none wraps", "[util]") {
  CHECK(vector_size<float>(Checked(3) * 5) == 15);
  CHECK(vector_size<char>(PTRDIFF_MAX) == PTRDIFF_MAX);
  CHECK_THROWS_AS(vector_size<char>(std::uint64_t(PTRDIFF_MAX) + 1), std::bad_alloc);
  CHECK_THROWS_AS(vector_size<double>(std::uint64_t(PTRDIFF_MAX) / 8 + 1), std::bad_alloc);
  // What the product wraps to in 32 and in 64 bits is small.
  CHECK_THROWS_AS(vector_size<char>(Checked(std::uint64_t(1) << 32) * (std::uint64_t(1) << 32)),
                  std::bad_alloc);
}
