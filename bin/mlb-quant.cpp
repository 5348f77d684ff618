// Quantizes a model of any kind to a .mlb file.

#include "common/open_model.hpp"
#include "common/progress.hpp"
#include "common/same_path.hpp"
#include "common/standard_input.hpp"
#include "common/text.hpp"
#include "mlb_quant/report.hpp"

#include <ml/inspect.hpp>
#include <ml/mlb.hpp>
#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/quantize.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace {

using namespace mlb_quant;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

ml::Q4Rule rule_of(const std::string& name) {
  const std::string rule = lower(name);
  return rule == "round" ? ml::Q4Rule::round : rule == "best" ? ml::Q4Rule::best : ml::Q4Rule::search;
}

// The mask of the classes that --q8 names. @return false after a usage error
bool take_classes(cli::Tool& tool, const Arguments& arguments, ml::QuantizeOptions& options) {
  for (const std::string& name : arguments.q8) {
    const auto bit = ml::find_q8_class(name);
    if (!bit) {
      std::string known;
      for (const ml::Q8Class& row : ml::q8_classes()) known += fmt::format(" {}", row.name);
      tool.fail_usage(fmt::format("--q8 is '{}', must be one of{}", name, known));
      return false;
    }
    options.q8_mask |= *bit;
  }
  if (options.q8_mask != 0 && options.type == ml::Encoding::q8_0) {
    tool.fail_usage("--q8 goes with --type q4_0 only: with q8_0 every matrix is Q8_0");
    return false;
  }
  return true;
}

// A .gguf keeps its encodings where the options do not say otherwise.
void keep_storage(cli::Tool& tool, const Arguments& arguments, const ml::Model& model,
                  ml::QuantizeOptions& options) {
  const CLI::App& app = tool.app();
  options.keep = !arguments.requantize;
  const auto kept = ml::kept_storage(model);
  if (!kept) return;
  const bool as_it_is = app.get_option("--type")->empty() && arguments.q8.empty();
  if (as_it_is) options.type = kept->type;
  if (as_it_is) options.q8_mask = kept->q8_mask;
  if (app.get_option("--scales")->empty()) options.scales = kept->scales;
  if (as_it_is) {
    tool.detail("type {}, scales {}: as the .gguf stores its matrices", ml::encoding_info(options.type).name,
                ml::scale_type_name(options.scales));
  }
}

// Opens the importance matrix that --imatrix names. @return false after an error
bool take_imatrix(cli::Tool& tool, const Arguments& arguments, const ml::Model& model, ml::Imatrix& imatrix,
                  ml::QuantizeOptions& options) {
  if (arguments.imatrix.empty()) return true;
  auto opened = ml::open_imatrix(arguments.imatrix);
  auto fits = opened ? ml::check_imatrix_fits(*opened, model.desc()) : ml::Result<void>(opened.error());
  if (!fits) {
    tool.fail(ml::with_path(fits.error(), arguments.imatrix));
    return false;
  }
  for (const std::string& note : opened->notes) tool.note(fmt::format("{}: {}", arguments.imatrix, note));
  imatrix = std::move(*opened);
  options.imatrix = &imatrix;
  return true;
}

// Where --q4-rule does not say it.
void take_default_rule(cli::Tool& tool, const ml::Model& model, ml::QuantizeOptions& options) {
  if (!tool.app().get_option("--q4-rule")->empty() || options.imatrix != nullptr) return;
  options.q4_rule = ml::default_q4_rule(model.desc());
  if (options.q4_rule == ml::Q4Rule::round && options.type == ml::Encoding::q4_0)
    tool.note("--q4-rule round, the default for Gemma 3");
}

void quantize(cli::Tool& tool, const Arguments& arguments) {
  ml::QuantizeOptions options{
      .type = *ml::find_encoding(arguments.type),
      .scales = lower(arguments.scales) == "f16" ? ml::ScaleType::f16 : ml::ScaleType::f32,
      .q4_rule = rule_of(arguments.q4_rule),
      .max_seq = arguments.max_seq,
      .threads = tool.threads(),
      .target = tool.target()};
  if (!arguments.imatrix.empty() && options.type == ml::Encoding::q8_0) {
    return tool.fail_usage("--imatrix goes with --type q4_0 only: Q8_0 matrices take no importance");
  }
  if (!arguments.imatrix.empty() && options.q4_rule == ml::Q4Rule::round) {
    return tool.fail_usage(
        "--imatrix excludes --q4-rule round: its scale is the largest element / -8, whatever the importance");
  }
  if (arguments.imatrix == "-" && arguments.input == "-") {
    return tool.fail_usage("INPUT and --imatrix cannot both come from standard input");
  }
  if (!take_classes(tool, arguments, options)) return;
  if (arguments.json && !arguments.dry_run && cli::names_standard_output(arguments.output)) {
    return tool.fail_usage("--json prints on standard output, so the model needs -o FILE");
  }

  const std::string input_name = cli::input_name(arguments.input);
  const auto model = cli::open_model(tool, arguments.input, {.decode = arguments.requantize});
  if (!model) return tool.fail(ml::with_path(model.error(), input_name));
  ml::Imatrix imatrix;
  if (!take_imatrix(tool, arguments, *model, imatrix, options)) return;
  if (model->format() == "gguf") keep_storage(tool, arguments, *model, options);
  take_default_rule(tool, *model, options);
  if (options.type == ml::Encoding::q8_0 && !tool.app().get_option("--q4-rule")->empty())
    tool.note("--q4-rule changes nothing: no matrix becomes Q4_0");
  const auto plan = ml::plan_quantize(*model, options);
  if (!plan) {
    ml::Error error = plan.error();
    if (options.keep && error.status == ml::Status::unsupported) error.message += "; --requantize permits it";
    return tool.fail(ml::with_path(std::move(error), input_name));
  }
  detail_tensors(tool, options, *plan);
  if (arguments.dry_run) {
    note_changes(tool, arguments, *plan);
    note_unweighted(tool, arguments, *plan);
    tool.print(arguments.json ? cli::json_line(to_json(arguments, options, *plan)) : plan_text(*plan));
    return;
  }

  std::vector<std::string> inputs = ml::input_files(arguments.input);
  if (!arguments.imatrix.empty()) inputs.push_back(arguments.imatrix);
  auto out = ml::OutputFile::create(arguments.output, {.force = tool.force(), .inputs = inputs});
  if (!out) return tool.fail(out.error());
  note_changes(tool, arguments, *plan);
  note_unweighted(tool, arguments, *plan);
  ml::Result<ml::QuantizeReport> report = [&] {
    cli::Progress progress(tool, "quantizing", plan->n_bytes, cli::human_size);
    options.progress = [&progress](std::uint64_t done, std::uint64_t) { progress.set(done); };
    return ml::quantize_model(*model, options, *out);
  }();
  if (!report) return tool.fail(ml::with_path(report.error(), input_name));
  if (const auto done = out->commit(); !done) return tool.fail(done.error());
  note_result(tool, arguments, *report);
  if (arguments.json) tool.print(cli::json_line(to_json(arguments, options, *report)));
}

}  // namespace

int main(int argc, char** argv) {
  cli::Tool tool("mlb-quant", "Quantizes a model to a .mlb file: Q8_0 or Q4_0 matrices, ready to run.",
                 "mlb-quant --type q4_0 --q8 tok_emb,v -o model.mlb ./checkpoint");
  Arguments arguments;
  add_options(tool.app(), arguments);
  tool.add_force();
  tool.add_verbose();
  tool.add_threads();
  return tool.main(argc, argv, [&] { quantize(tool, arguments); });
}
