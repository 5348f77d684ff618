#include "formats/inspect.hpp"
#include "runtime/session_file.hpp"

namespace ml {

namespace {

void add_fields(const SessionHeader& header, FileReport& report) {
  report.fields = {
      {"magic", std::string("MLS1"), 0, "MLS1"},
      {"version", std::uint64_t{header.version}, 4, "version of the format"},
      {"fingerprint", header.fingerprint, 8, "of the model"},
      {"kv", std::uint64_t{header.kv}, 16, "type of the KV cache"},
      {"acts", std::uint64_t{header.activations}, 20, "0 q8, 1 f32"},
      {"positions", std::uint64_t{header.position}, 24, "tokens evaluated"},
      {"tokens", std::uint64_t{header.n_tokens}, 28, "tokens in all, those still to evaluate included"},
      {"kv_name", std::string(kv_type_name(static_cast<KvType>(header.kv))), {}, "the KV type in words"},
  };
}

}  // namespace

Result<FileReport> inspect_session(std::shared_ptr<const InputBytes> input, const std::string& path,
                                   const InspectOptions& options) {
  const std::span<const std::byte> bytes = input->data();
  FileReport report{.format = "mls1", .title = "MLS1 session"};
  add_file(report, path, std::move(input));
  auto header = read_session_header(bytes);
  if (!header) {
    if (!options.check) return std::move(header.error());
    report.defects.push_back(std::move(header.error()));
    return report;
  }
  report.title = "MLS1 session of ml-run, version 1";
  add_fields(*header, report);
  const std::uint64_t n_token_bytes = sizeof(std::uint32_t) * header->n_tokens;
  const std::uint64_t states = kSessionHeaderBytes + n_token_bytes;
  report.arrays.push_back({.name = "tokens",
                           .encoding = "u32",
                           .shape = {header->n_tokens},
                           .offset = kSessionHeaderBytes,
                           .data = bytes.subspan(kSessionHeaderBytes, n_token_bytes)});
  report.arrays.push_back({.name = "states",
                           .encoding = "bytes",
                           .shape = {bytes.size() - kSessionHashBytes - states},
                           .offset = states,
                           .data = bytes.subspan(states, bytes.size() - kSessionHashBytes - states)});
  return report;
}

}  // namespace ml
