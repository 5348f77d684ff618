// Prefill and decode speed of models, beside the limits of the machine.

#include "ml_bench/encodings.hpp"
#include "ml_bench/report.hpp"

#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  ml_bench::Options options;
  cli::Tool tool("ml-bench", "Measures how fast language models run here, and what limits them.",
                 "ml-bench model.mlb -p 512 -n 128 -t 1,2");
  ml_bench::declare_options(tool, options);
  return tool.main(argc, argv, [&] {
    if (const std::string problem = ml_bench::finish_options(tool, options); !problem.empty())
      return tool.fail_usage(problem);
    if (!options.encodings.empty()) return ml_bench::compare_encodings(tool, options);
    std::vector<nlohmann::ordered_json> baseline;
    if (!options.baseline.empty()) {
      auto rows = ml_bench::read_baseline(options.baseline);
      if (!rows) return tool.fail(ml::with_path(rows.error(), options.baseline));
      baseline = std::move(*rows);
    }
    cli::HtmlOutput html(tool);
    const std::vector<std::string> inputs = ml_bench::inputs_of(options);
    if (!html.open(options.html, inputs) || !tool.open_output(inputs, true)) return;
    const ml_bench::Results results = ml_bench::measure(tool, options);
    ml_bench::print(tool, results, options);
    tool.flush();
    if (html.wanted() && !results.rows.empty()) html.write(ml_bench::html_page(results, options));
    if (!baseline.empty()) ml_bench::compare(tool, results, options, baseline);
  });
}
