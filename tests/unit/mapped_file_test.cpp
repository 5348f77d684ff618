#include "util/mapped_file.hpp"
#include "catch.hpp"
#include "folder.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

using namespace ml;

TEST_CASE("a missing file and a folder are errors that say why", "[util]") {
  const auto missing = InputBytes::open("/nonexistent/file");
  REQUIRE_FALSE(missing);
  CHECK(describe(missing.error()) == "/nonexistent/file: cannot open: No such file or directory (ML_E_IO)");
  CHECK(describe(InputBytes::open("").error()) == "'': cannot open: No such file or directory (ML_E_IO)");
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

TEST_CASE("a file of over 4 GiB is mapped where addresses have 64 bits, else refused", "[util]") {
  const TempFolder folder;
  constexpr std::uint64_t kSize = (std::uint64_t(1) << 32) + 100;
  folder.write("large", "start");
  std::filesystem::resize_file(folder.file("large"), kSize);  // zeros that take no room
  const auto input = InputBytes::open(folder.file("large"));
  if (sizeof(void*) > 4) {
    REQUIRE(input);
    CHECK((*input)->mapped());
    CHECK((*input)->data().size() == kSize);
    CHECK((*input)->data().back() == std::byte(0));
  } else {
    REQUIRE_FALSE(input);
    CHECK(describe(input.error()) ==
          folder.file("large") + ": is 4294967396 bytes, a 32-bit program can map 2147483647 (ML_E_NOMEM)");
  }
}
