#include "catch.hpp"

#include <ml/status.hpp>

#include <cerrno>

using namespace ml;

TEST_CASE("an error becomes one line with file, rule, status and place", "[util]") {
  const Error shape{.status = Status::shape, .message = "head_dim is 65, must be even", .offset = 80};
  CHECK(describe(with_path(shape, "model.mlb")) ==
        "model.mlb: head_dim is 65, must be even (ML_E_SHAPE, offset 80)");
  const Error io{.status = Status::io, .message = "cannot open", .path = "x", .os_errno = ENOENT};
  CHECK(describe(io) == "x: cannot open: No such file or directory (ML_E_IO)");
  CHECK(describe(with_path({.status = Status::format, .message = "file is empty"}, "-")) ==
        "standard input: file is empty (ML_E_FORMAT)");
  const Error tensor{.status = Status::format, .message = "tensor is missing", .tensor = "layers.0.wq"};
  CHECK(describe(tensor) == "tensor is missing (ML_E_FORMAT, tensor layers.0.wq)");
  CHECK(with_path(io, "y").path == "x");
}

TEST_CASE("an error's line stays short, and whole in its characters", "[util]") {
  for (const std::size_t shift : {0, 1, 2}) {
    std::string message(shift, 'x');
    for (int i = 0; i < 1'000'000; ++i) message += "\u20ac";
    const std::string line =
        describe({.status = Status::limit, .message = message, .path = "file", .offset = 7});
    CHECK(line.size() <= 2000);
    CHECK(line.size() > 1990);
    CHECK(line.starts_with("file: "));
    CHECK(line.ends_with("\u20ac (ML_E_LIMIT, offset 7)"));
    CHECK(line.find("...") != line.npos);
    CHECK(line.find("\\x") == line.npos);
    CHECK(printable(line) == line);
  }
  CHECK(describe({.message = std::string(1980, 'x')}).find("...") == std::string::npos);
}

TEST_CASE("a result holds a value or an error", "[util]") {
  Result<int> good = 3;
  REQUIRE(good);
  CHECK(*good == 3);
  Result<int> bad = Error{.status = Status::arg, .message = "no"};
  REQUIRE_FALSE(bad);
  CHECK(bad.error().status == Status::arg);
  CHECK(Result<void>());
}
