#include "util/mapped_file.hpp"
#include "catch.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

using namespace ml;

TEST_CASE("a missing file and a folder are errors that say why", "[util]") {
  const auto missing = InputBytes::open("/nonexistent/file");
  REQUIRE_FALSE(missing);
  CHECK(describe(missing.error()) == "/nonexistent/file: cannot open: No such file or directory (ML_E_IO)");
  const auto folder = InputBytes::open("/");
  REQUIRE_FALSE(folder);
  CHECK(describe(folder.error()) == "/: cannot read: Is a directory (ML_E_IO)");
}

TEST_CASE("a pipe is read into aligned memory", "[util]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread writer([&] {
    const std::string chunk(1000, 'x');
    for (int i = 0; i < 300; ++i) CHECK(::write(ends[1], chunk.data(), chunk.size()) == 1000);
    ::close(ends[1]);
  });
  const auto input = InputBytes::open("/dev/fd/" + std::to_string(ends[0]));
  writer.join();
  ::close(ends[0]);
  REQUIRE(input);
  CHECK_FALSE((*input)->mapped());
  CHECK((*input)->data().size() == 300000);
  CHECK(reinterpret_cast<std::uintptr_t>((*input)->data().data()) % 64 == 0);
}
