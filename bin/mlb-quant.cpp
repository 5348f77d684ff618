// Quantizes a model of any kind to a .mlb file.

#include "common/open_model.hpp"
#include "common/progress.hpp"
#include "common/same_path.hpp"
#include "common/standard_input.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"

#include <ml/inspect.hpp>
#include <ml/mlb.hpp>
#include <ml/model.hpp>
#include <ml/output.hpp>
#include <ml/quantize.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace {

struct Arguments {
  std::string input = "-";
  std::string output = "-";
  std::string type = "q8_0";
  std::string scales = "f32";
  std::vector<std::string> q8;
  std::string q4_rule = "search";
  std::string imatrix;
  std::uint32_t max_seq = 0;
  bool requantize = false;
  bool dry_run = false;
  bool json = false;
};

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const ml::Q8Class& row : ml::q8_classes()) names.emplace_back(row.name);
  return names;
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("INPUT", arguments.input,
                 "A checkpoint folder, a .gguf, a .mog or a .mlb; - or none: a .mlb on standard input")
      ->type_name(cli::type_of("INPUT", cli::model_files()));
  app.add_option("-o,--output", arguments.output, "The .mlb to write; - or none: standard output")
      ->type_name("FILE");
  app.add_option("--type", arguments.type, "Encoding of the matrices; of a .gguf: as it stores them")
      ->check(CLI::IsMember({"q8_0", "q4_0"}, CLI::ignore_case))
      ->capture_default_str();
  app.add_option("--scales", arguments.scales, "How the scale of each block of 32 weights is stored")
      ->check(CLI::IsMember({"f32", "f16"}, CLI::ignore_case))
      ->capture_default_str();
  app.add_option(
         "--q8", arguments.q8,
         "With q4_0: classes of matrices to store as Q8_0 (tok_emb wcls qk v o gate_up down, separated by "
         "commas); may be given again")
      ->type_name(cli::type_of("CLASS", cli::list_of(class_names())))
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option(
         "--q4-rule", arguments.q4_rule,
         "How Q4_0 scales are found: the best of 13 fits, that one refined, or as checkpoints trained for "
         "Q4_0 expect")
      ->check(CLI::IsMember({"search", "best", "round"}, CLI::ignore_case))
      ->capture_default_str();
  app.add_option("--imatrix", arguments.imatrix,
                 "With q4_0, search or best: an importance matrix of the model, which weighs the errors")
      ->type_name(cli::type_of("FILE", cli::files_with({".mli", ".gguf"})));
  app.add_option("--max-seq", arguments.max_seq, "Lower the longest context to this many positions")
      ->check(CLI::Range(1u, 1u << 24));
  app.add_flag("--requantize", arguments.requantize,
               "Of a .gguf: convert matrices that are quantized in another way, too");
  app.add_flag("--dry-run", arguments.dry_run, "Print what would be written, and write nothing");
  app.add_flag("--json", arguments.json, "Print a report as one JSON object");
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
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

std::string scales_of(const ml::MlbArray& array) {
  return array.scale_type == ml::ScaleType::none ? "" : std::string(ml::scale_type_name(array.scale_type));
}

nlohmann::ordered_json to_json(const Arguments& arguments, const ml::QuantizeOptions& options,
                               const ml::QuantizeReport& report) {
  nlohmann::ordered_json classes = nlohmann::json::array();
  for (const ml::Q8Class& row : ml::q8_classes()) {
    if ((options.q8_mask & row.bit) != 0) classes.push_back(row.name);
  }
  nlohmann::ordered_json json{
      {"input", arguments.input},
      {"output", arguments.dry_run ? nlohmann::json() : nlohmann::json(arguments.output)},
      {"dry_run", arguments.dry_run},
      {"type", ml::encoding_info(options.type).name},
      {"scales", ml::scale_type_name(options.scales)},
      {"q8", classes},
      {"q4_rule", arguments.q4_rule},
      {"imatrix", arguments.imatrix.empty() ? nlohmann::json() : nlohmann::json(arguments.imatrix)},
      {"bytes", report.n_bytes},
      {"n_weights", report.n_weights},
      {"source_weights", report.source_weights},
      {"bits_per_weight", report.bits_per_weight},
      {"hidden_dim", report.header.hidden_dim},
      {"source_hidden_dim", report.source_hidden_dim},
      {"max_seq", report.header.max_seq},
      {"source_max_seq", report.source_max_seq}};
  if (!arguments.dry_run) json["seconds"] = report.seconds;
  nlohmann::ordered_json tensors = nlohmann::json::array();
  for (const ml::QuantizedTensor& tensor : report.tensors) {
    nlohmann::ordered_json row{{"name", tensor.name},
                               {"source", tensor.source},
                               {"rows", tensor.array.rows},
                               {"cols", tensor.array.cols},
                               {"encoding", ml::encoding_info(tensor.array.encoding).name},
                               {"scales", ml::scale_type_name(tensor.array.scale_type)},
                               {"bytes", tensor.array.n_bytes + tensor.array.n_scale_bytes},
                               {"copied", tensor.copied},
                               {"weighted", tensor.weighted}};
    if (!arguments.dry_run) {
      row["rms_error"] = tensor.rms_error;
      row["relative_error"] = tensor.relative_error;
      row["seconds"] = tensor.seconds;
    }
    tensors.push_back(std::move(row));
  }
  json["tensors"] = std::move(tensors);
  return json;
}

std::string plan_text(const ml::QuantizeReport& report) {
  using Align = cli::Table::Align;
  cli::Table table({Align::left, Align::left, Align::left, Align::right, Align::right, Align::right});
  table.add({"tensor", "encoding", "scales", "rows", "cols", "bytes"});
  for (const ml::QuantizedTensor& tensor : report.tensors) {
    table.add({tensor.name, std::string(ml::encoding_info(tensor.array.encoding).name),
               scales_of(tensor.array), fmt::format("{}", tensor.array.rows),
               fmt::format("{}", tensor.array.cols),
               fmt::format("{}", tensor.array.n_bytes + tensor.array.n_scale_bytes)});
  }
  return table.text() + fmt::format("file: {} bytes, {:.3f} bits a weight, {} weights\n", report.n_bytes,
                                    report.bits_per_weight, report.n_weights);
}

void note_changes(cli::Tool& tool, const Arguments& arguments, const ml::QuantizeReport& report) {
  if (report.header.hidden_dim != report.source_hidden_dim) {
    tool.note(fmt::format("hidden_dim {} is no multiple of 32: padded with zeros to {}",
                          report.source_hidden_dim, report.header.hidden_dim));
  }
  if (arguments.max_seq > report.source_max_seq) {
    tool.note(fmt::format("max_seq stays {}: --max-seq lowers it only", report.source_max_seq));
  }
  if (report.header.max_seq != report.source_max_seq) {
    tool.note(fmt::format("max_seq lowered from {} to {}", report.source_max_seq, report.header.max_seq));
  }
}

// With --verbose: what each tensor becomes, and why.
void detail_tensors(cli::Tool& tool, const ml::QuantizeOptions& options, const ml::QuantizeReport& report) {
  for (const ml::QuantizedTensor& tensor : report.tensors) {
    const ml::Encoding encoding = tensor.array.encoding;
    const char* why = encoding == ml::Encoding::f32 ? "no matrix of weights"
                      : tensor.copied               ? "its quants stay as they were"
                      : encoding != options.type    ? "of a class of --q8"
                      : tensor.weighted             ? "weighed by the importance matrix"
                                                    : "as --type says";
    tool.detail("{}: {} from {}: {}", tensor.name, ml::encoding_info(encoding).name, tensor.source, why);
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

// Matrices that the importance matrix says nothing of.
void note_unweighted(cli::Tool& tool, const Arguments& arguments, const ml::QuantizeReport& report) {
  if (arguments.imatrix.empty()) return;
  std::vector<std::string> names;
  std::size_t n_q4 = 0;
  for (const ml::QuantizedTensor& tensor : report.tensors) {
    if (tensor.array.encoding != ml::Encoding::q4_0) continue;
    ++n_q4;
    if (!tensor.weighted) names.push_back(tensor.name);
  }
  if (names.empty()) return;
  tool.note(fmt::format("{} of {} Q4_0 matrices are quantized without importance: {}{}", names.size(), n_q4,
                        names.front(), names.size() == 1 ? "" : ", ..."));
}

void note_result(cli::Tool& tool, const Arguments& arguments, const ml::QuantizeReport& report) {
  const auto worst = std::max_element(report.tensors.begin(), report.tensors.end(),
                                      [](const ml::QuantizedTensor& a, const ml::QuantizedTensor& b) {
                                        return a.relative_error < b.relative_error;
                                      });
  const std::string error = worst->relative_error > 0 ? fmt::format("largest rms error {:.3g} % ({})",
                                                                    100 * worst->relative_error, worst->name)
                                                      : "exact";
  tool.note(fmt::format("{}: {}, {:.2f} bits a weight, {}, {:.2f} s",
                        arguments.output == "-" ? "standard output" : arguments.output,
                        cli::human_size(report.n_bytes), report.bits_per_weight, error, report.seconds));
}

void quantize(cli::Tool& tool, const Arguments& arguments) {
  ml::QuantizeOptions options{
      .type = *ml::find_encoding(arguments.type),
      .scales = lower(arguments.scales) == "f16" ? ml::ScaleType::f16 : ml::ScaleType::f32,
      .q4_rule = lower(arguments.q4_rule) == "round"  ? ml::Q4Rule::round
                 : lower(arguments.q4_rule) == "best" ? ml::Q4Rule::best
                                                      : ml::Q4Rule::search,
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
