#include <ml/evaluation.hpp>
#include <ml/logits_file.hpp>

#include "formats/defect_list.hpp"
#include "formats/inspect.hpp"

namespace ml {

namespace {

// Where mllogits(5) puts them.
constexpr std::uint64_t kRowsOffset = 48;

void add_fields(const LogitsHeader& header, FileReport& report) {
  report.fields = {
      {"magic", std::string("MLL1"), 0, "MLL1"},
      {"version", std::uint64_t{1}, 4, "version of the format"},
      {"vocab", std::uint64_t{header.vocab}, 8, "logits of a row"},
      {"bits", static_cast<std::uint64_t>(header.precision), 12, "of a logit"},
      {"ctx", std::uint64_t{header.ctx}, 16, "tokens that a window reads"},
      {"stride", std::uint64_t{header.stride}, 20, "tokens between windows"},
      {"rows", header.n_rows, 24, "tokens scored"},
      {"tokens_hash", header.tokens_hash, 32, "of the text's tokens and windows"},
  };
}

// Reads every row: its defects, and the perplexity of the text.
void check_rows(const LogitsFile& file, FileReport& report) {
  if (file.header().n_rows == 0) return;  // then nothing bounds vocab
  std::vector<float> logits(file.header().vocab);
  EvaluationSums sums;
  DefectList defects;
  for (std::uint64_t i = 0; i < file.header().n_rows; ++i) {
    auto row = file.read(i, logits);
    if (row) {
      sums.add(0, row->score);
    } else {
      defects.add(std::move(row.error()));
    }
  }
  report.defects = defects.take();
  if (!report.defects.empty()) return;
  report.fields.push_back({"perplexity", sums.perplexity().mean, {}, "of the rows"});
}

}  // namespace

Result<FileReport> inspect_logits(std::shared_ptr<const InputBytes> input, const std::string& path,
                                  const InspectOptions& options) {
  const std::span<const std::byte> bytes = input->data();
  FileReport report{.format = "mll1", .title = "MLL1 logit file"};
  add_file(report, path, std::move(input));
  auto file = LogitsFile::view(bytes);
  if (!file) {
    if (!options.check) return std::move(file.error());
    report.defects.push_back(std::move(file.error()));
    return report;
  }
  report.title = "MLL1 logit file, version 1";
  add_fields(file->header(), report);
  report.arrays.push_back({.name = "rows",
                           .encoding = "bytes",
                           .shape = {file->header().n_rows},
                           .offset = kRowsOffset,
                           .data = bytes.subspan(kRowsOffset)});
  if (options.check) check_rows(*file, report);
  return report;
}

}  // namespace ml
