#include "mlb_quant/report.hpp"

#include "common/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace mlb_quant {

namespace {

std::string scales_of(const ml::MlbArray& array) {
  return array.scale_type == ml::ScaleType::none ? "" : std::string(ml::scale_type_name(array.scale_type));
}

std::string_view rule_name(ml::Q4Rule rule) {
  return rule == ml::Q4Rule::round ? "round" : rule == ml::Q4Rule::best ? "best" : "search";
}

}  // namespace

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
      {"q4_rule", rule_name(options.q4_rule)},
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

}  // namespace mlb_quant
