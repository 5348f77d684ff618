#include "common/text.hpp"
#include "common/terminal.hpp"

#include "mlb_info/details.hpp"
#include "mlb_info/words.hpp"

#include <filesystem>

namespace mlb_info {

namespace {

using Align = cli::Table::Align;

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string bits_a_weight(const ml::FileReport& report) {
  std::uint64_t n_weights = 0;
  std::uint64_t n_bytes = 0;
  for (const EncodingTotal& total : encoding_totals(report)) {
    if (total.n_weights == 0) continue;
    n_weights += total.n_weights;
    n_bytes += total.n_bytes;
  }
  if (n_weights == 0) return {};
  return fmt::format("{} in {} bytes: {:.3f} bits a weight", n_weights, n_bytes,
                     8.0 * static_cast<double>(n_bytes) / static_cast<double>(n_weights));
}

std::string encodings(const ml::FileReport& report) {
  std::vector<std::string> parts;
  for (const EncodingTotal& total : encoding_totals(report)) {
    parts.push_back(fmt::format("{} {} {}", total.name, cli::counted(total.n_tensors, "tensor"),
                                cli::human_size(total.n_bytes)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_summary(cli::Tool& tool, const ml::FileReport& report) {
  cli::Table table({Align::left, Align::left, Align::left});
  const auto add = [&table](const std::string& name, const std::string& text) {
    if (!text.empty()) table.add({"", name, text});
  };
  if (report.desc) {
    for (const auto& [name, text] : model_lines(*report.desc)) add(name, text);
  } else if (report.format != "folder") {
    for (const ml::InfoField& field : report.fields) add(cli::printable(field.name), value_text(field.value));
  }
  add("note", report.note);
  if (const std::string weights = bits_a_weight(report); !weights.empty()) {
    add("encodings", encodings(report));
    add("weights", weights);
  }
  if (report.desc) {
    const ml::ModelDesc& desc = *report.desc;
    add("KV cache",
        fmt::format("{} bytes a token in {}", kv_bytes_per_token(desc), ml::kv_type_name(usual_kv(desc))));
    std::string needs =
        fmt::format("{}, {} of KV cache for all {} positions",
                    report.format == "gguf" ? "a copy of the quantized tensors" : "the file mapped",
                    cli::human_size(kv_bytes(desc)), desc.max_seq);
    if (state_bytes(desc) != 0) needs += fmt::format(", {} of state", cli::human_size(state_bytes(desc)));
    add("to run", needs);
  }
  tool.print(table.text());
}

void print_header(cli::Tool& tool, const ml::FileReport& report) {
  cli::Table table({Align::left, Align::right, Align::left, Align::left, Align::left});
  table.add({"", "OFFSET", "FIELD", "VALUE", "MEANING"});
  for (const ml::InfoField& field : report.fields) {
    table.add({"", field.offset ? std::to_string(*field.offset) : "-", cli::printable(field.name),
               value_text(field.value), field.meaning});
  }
  tool.print(table.text());
}

// @param n_bars  of each histogram
std::string rows_text(const ml::FileReport& report, const Details& details, const Wanted& wanted,
                      std::size_t n_bars) {
  std::vector<Align> columns{Align::left,  Align::left,  Align::right, Align::left,
                             Align::right, Align::right, Align::right};
  std::vector<std::string> head{"", "NAME", "LAYER", "ENCODING", "SHAPE", "OFFSET", "BYTES"};
  const auto column = [&](bool present, Align align, const std::string& name) {
    if (!present) return;
    columns.push_back(align);
    head.push_back(name);
  };
  const bool several_files = report.files.size() > 1;
  column(several_files, Align::left, "FILE");
  for (const char* name : {"MIN", "MAX", "MEAN", "RMS", "ZERO"}) column(wanted.stats, Align::right, name);
  column(wanted.stats, Align::left, n_bars == 0 ? "" : "HISTOGRAM");
  column(wanted.hash, Align::left, "XXH3-128");

  const bool unicode = cli::unicode_terminal();
  cli::Table table(columns);
  table.add(head);
  for (std::size_t i = 0; i < report.arrays.size(); ++i) {
    const ml::InfoArray& array = report.arrays[i];
    std::vector<std::string> row{"",
                                 cli::printable(array.name),
                                 array.layer == ml::kNoLayer ? "-" : std::to_string(array.layer),
                                 encoding_text(array),
                                 shape_text(array),
                                 std::to_string(array.offset),
                                 std::to_string(array.n_bytes())};
    if (several_files)
      row.push_back(cli::printable(std::filesystem::path(report.files[array.file].path).filename().string()));
    if (wanted.stats && details.stats[i]) {
      const ml::TensorStats& stats = *details.stats[i];
      row.push_back(number(static_cast<double>(stats.min)));
      row.push_back(number(static_cast<double>(stats.max)));
      row.push_back(number(stats.mean));
      row.push_back(number(stats.rms));
      row.push_back(fmt::format(
          "{:.2f}%",
          stats.n == 0 ? 0.0 : 100.0 * static_cast<double>(stats.n_zero) / static_cast<double>(stats.n)));
      const std::vector<double> bars(stats.histogram.begin(), stats.histogram.end());
      row.push_back((n_bars == 0 ? "||" : "|" + cli::sparkline(bars, n_bars, unicode) + "|") +
                    (stats.n_non_finite == 0 ? "" : fmt::format(" {} not finite", stats.n_non_finite)));
    } else if (wanted.stats) {
      for (int blank = 0; blank < 6; ++blank) row.push_back("-");
    }
    if (wanted.hash) row.push_back(details.array_hashes[i]);
    table.add(row);
  }
  return table.text();
}

void print_rows(cli::Tool& tool, const ml::FileReport& report, const Details& details, const Wanted& wanted) {
  std::size_t n_bars = 0;
  if (wanted.stats)
    n_bars = cli::sparkline_columns(ml::kHistogramBins, rows_text(report, details, wanted, 0));
  tool.print(rows_text(report, details, wanted, n_bars));
}

}  // namespace

void print_text(cli::Tool& tool, const std::string& path, const ml::FileReport& report,
                const Details& details, const Wanted& wanted) {
  const std::uint64_t n_bytes = report.n_bytes();
  tool.print("{}: {}, {} bytes", cli::printable(path, 4096), report.title, n_bytes);
  if (n_bytes >= 1000) tool.print(" ({})", cli::human_size(n_bytes));
  tool.print("\n");
  if (report.defects.empty() || !report.arrays.empty()) print_summary(tool, report);
  if (wanted.check) {
    const std::size_t n = report.defects.size();
    tool.print("  check: {}\n", n == 0 ? "sound" : cli::counted(n, "defect"));
  }
  if (wanted.header && !report.fields.empty()) print_header(tool, report);
  if (wanted.map) print_map(tool, path, report, details);
  if (wanted.rows() && !report.arrays.empty()) print_rows(tool, report, details, wanted);
  for (std::size_t i = 0; i < details.file_hashes.size(); ++i) {
    tool.print("  {}  {}\n", details.file_hashes[i], cli::printable(report.files[i].path, 4096));
  }
}

}  // namespace mlb_info
