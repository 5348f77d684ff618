// A program outside the project: it sees only what is installed.

#include <ml/hash.hpp>
#include <ml/output.hpp>
#include <ml/status.hpp>
#include <ml/target.hpp>
#include <ml/version.hpp>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string_view text = "libml";
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text.data(), text.size()));
  auto file = ml::OutputFile::create(std::string(argv[1]) + "/out");
  if (!file || !file->write(bytes) || !file->commit()) return 1;
  ml::Hasher hasher;
  hasher.update(bytes);
  if (hasher.hex().size() != 32) return 1;
  if (!ml::resolve_target("scalar") || ml::available_targets().empty()) return 1;
  const auto refused = ml::resolve_target("abacus");
  if (refused || ml::describe(refused.error()).find("ML_E_ARG") == std::string::npos) return 1;
  std::printf("libml %s\n", ml::version());
  return 0;
}
