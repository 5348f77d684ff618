// A tool that does nothing useful: it lets the tests try the manners that all tools share.

#include "common/progress.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"

#include <ml/output.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <thread>

namespace {

constexpr unsigned kPieces = 10;

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("ml-sample", "Shows how the tools behave at the command line.",
                 "ml-sample --type a -o out FILE");
  std::vector<std::string> operands;
  std::vector<std::string> stops;
  std::string type = "a";
  std::string output = "-";
  std::uint64_t size = 0;
  unsigned wait_ms = 0;
  bool show = false;
  tool.app().add_option("FILE", operands, "Printed one a line with --show; named as inputs of the output");
  tool.app().add_option("-o,--output", output, "Write zero bytes there")->type_name("FILE");
  tool.app().add_option("--size", size, "How many bytes");
  tool.app()
      .add_option("--type", type, "A choice with a description long enough to be broken into two lines")
      ->check(CLI::IsMember({"a", "b", "see"}))
      ->capture_default_str();
  tool.app().add_option("--stop", stops, "May be given again")->type_name("TEXT");
  tool.app().add_option("--wait", wait_ms, "Milliseconds to take");
  tool.app().add_flag("--show", show, "Print what was understood");
  tool.add_force();
  tool.add_threads();
  return tool.main(argc, argv, [&] {
    if (show) {
      for (const std::string& operand : operands) tool.print("{}\n", operand);
      for (const std::string& stop : stops) tool.print("stop {}\n", stop);
      tool.print("type {}, threads {}, target {}\n", type, tool.threads(), ml::target_name(tool.target()));
      return;
    }
    auto file = ml::OutputFile::create(output, {.force = tool.force(), .inputs = operands});
    if (!file) return tool.fail(file.error());
    cli::Progress progress(tool, "writing", size, cli::human_size);
    for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
      const std::uint64_t n = (piece + 1) * size / kPieces - piece * size / kPieces;
      if (const auto written = file->write_zeros(n); !written) return tool.fail(written.error());
      progress.advance(n);
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms) / kPieces);
    }
    if (const auto done = file->commit(); !done) return tool.fail(done.error());
    tool.note("wrote " + cli::human_size(size));
  });
}
