#include "ml_run/text_run.hpp"

int main(int argc, char** argv) {
  cli::RunOptions options;
  cli::Tool tool("ml-run", "Writes text with a language model.",
                 "ml-run model.mlb -n 100 \"Once upon a time\"");
  cli::declare_run_options(tool, options);
  return tool.main(argc, argv, [&] {
    if (const std::string problem = cli::settle_operands(options); !problem.empty())
      return tool.fail_usage(problem);
    if (options.random_seed)
      tool.note(fmt::format("--seed {} gives this answer again", options.sampling.seed));
    cli::TextRun(tool, options)();
  });
}
