#include "formats/inspect.hpp"
#include "formats/mlt.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

namespace ml {

namespace {

// Where mlt(5) puts them.
constexpr std::uint64_t kHeaderBytes = 32;
constexpr std::uint64_t kTokenBytes = 5;
constexpr std::uint64_t kMergeBytes = 12;

std::string kind_name(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::sentencepiece: return "sentencepiece";
    case TokenizerKind::byte_level: return "byte_level";
  }
  return {};
}

void add_fields(const MltContents& contents, FileReport& report) {
  std::uint64_t n_added = 0;
  for (std::uint32_t id = 0; id < contents.tokens.size(); ++id) {
    n_added += contents.tokens.attr(id) == TokenAttr::added ? 1 : 0;
  }
  report.fields = {
      {"magic", std::string("MLT1"), 0, "MLT1"},
      {"version", std::uint64_t{1}, 4, "version of the format"},
      {"kind", static_cast<std::uint64_t>(contents.kind), 8, "1 SentencePiece-style BPE, 2 byte-level BPE"},
      {"n_vocab", std::uint64_t{contents.tokens.size()}, 12, "tokens"},
      {"n_merges", std::uint64_t{contents.merges.size()}, 16, "merge rules"},
      {"bos", std::int64_t{contents.bos}, 20, "id of the first token of a text; -1: none"},
      {"eos", std::int64_t{contents.eos}, 24, "id of the last token of a text; -1: none"},
      {"flags", std::uint64_t{contents.flags}, 28, "bits: how a text is cut before merging"},
      {"kind_name", kind_name(contents.kind), {}, "the kind in words"},
      {"flag_names",
       fmt::format("{}", fmt::join(tokenizer_flag_names(contents.flags), ",")),
       {},
       "the flags in words"},
      {"n_added", n_added, {}, "tokens that are matched literally"},
  };
}

void add_arrays(const MltContents& contents, std::span<const std::byte> bytes, FileReport& report) {
  std::uint64_t n_token_bytes = 0;
  const std::uint32_t n_vocab = contents.tokens.size();
  for (std::uint32_t id = 0; id < n_vocab; ++id)
    n_token_bytes += kTokenBytes + contents.tokens.bytes(id).size();
  report.arrays.push_back({.name = "tokens",
                           .encoding = "bytes",
                           .shape = {n_vocab},
                           .offset = kHeaderBytes,
                           .data = bytes.subspan(kHeaderBytes, n_token_bytes)});
  const std::uint64_t offset = kHeaderBytes + n_token_bytes;
  report.arrays.push_back({.name = "merges",
                           .encoding = "u32",
                           .shape = {contents.merges.size(), 3},
                           .offset = offset,
                           .data = bytes.subspan(offset, kMergeBytes * contents.merges.size())});
}

}  // namespace

Result<FileReport> inspect_mlt(std::shared_ptr<const InputBytes> input, const std::string& path,
                               const InspectOptions& options) {
  const std::span<const std::byte> bytes = input->data();
  FileReport report{.format = "mlt", .title = ".mlt tokenizer"};
  add_file(report, path, input);
  DefectList defects;
  auto contents = read_mlt(bytes, options.check ? &defects : nullptr);
  if (!contents) {
    if (!options.check) return std::move(contents.error());
    defects.add(std::move(contents.error()));
  }
  report.defects = defects.take();
  if (!report.defects.empty()) return report;
  report.title = ".mlt tokenizer, version 1";
  add_fields(*contents, report);
  add_arrays(*contents, bytes, report);
  return report;
}

}  // namespace ml
