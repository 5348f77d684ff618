#include "mlt_encode/transcode.hpp"

#include "common/id_format.hpp"
#include "common/standard_input.hpp"

#include <algorithm>
#include <iterator>

namespace mlt_encode {

ml::Error in_file(ml::Error error, const std::string& name) {
  return ml::with_path(std::move(error), cli::input_name(name));
}

void Transcoder::text(std::string_view text, const std::string& name, std::uint64_t offset,
                      Outcome& outcome) const {
  auto done = options_.decode ? decode(text, outcome.answer) : encode(text, outcome.answer);
  if (done) return;
  if (done.error().offset) *done.error().offset += offset;
  outcome.errors.push_back(in_file(std::move(done.error()), name));
}

void Transcoder::lines(std::string_view all, const std::string& name, std::uint64_t offset,
                       Outcome& outcome) const {
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\n', begin), all.size());
    text(all.substr(begin, end - begin), name, offset + begin, outcome);
    begin = end + 1;
  }
}

ml::Result<void> Transcoder::encode(std::string_view text, std::string& out) const {
  if (const auto invalid = options_.strict ? ml::find_invalid_utf8(text) : std::nullopt) {
    return ml::Error{.status = ml::Status::format, .message = "is not UTF-8", .offset = *invalid};
  }
  ml::EncodeOptions how{.added = !options_.no_added, .target = target_};
  if (options_.bos || options_.no_bos) how.bos = options_.bos;
  const std::vector<std::uint32_t> ids = tokenizer_.encode(text, how);
  if (!options_.count) return cli::append_ids(out, ids, options_.format, tokenizer_);
  fmt::format_to(std::back_inserter(out), "{}\n", ids.size());
  return {};
}

ml::Result<void> Transcoder::decode(std::string_view text, std::string& out) const {
  const auto ids = cli::parse_ids(text, options_.format);
  if (!ids) return ids.error();
  const std::uint32_t n_vocab = tokenizer_.n_vocab();
  const auto past = std::find_if(ids->begin(), ids->end(), [&](std::uint32_t id) { return id >= n_vocab; });
  if (past != ids->end()) {
    return ml::Error{
        .status = ml::Status::format,
        .message = fmt::format("id is {}, must be below n_vocab, {}", *past, n_vocab),
        .offset = cli::offset_of_id(text, options_.format, static_cast<std::size_t>(past - ids->begin()))};
  }
  // The BOS that encoding puts there is not of the text.
  const bool adds_bos = options_.bos || (!options_.no_bos && (tokenizer_.flags() & ml::kMltBos));
  const bool skip = adds_bos && !ids->empty() && ids->front() == tokenizer_.bos();
  const std::string decoded = tokenizer_.decode(std::span(*ids).subspan(skip ? 1 : 0));
  if (options_.format == "jsonl") {
    out += cli::json_text_line(decoded);
    return {};
  }
  out += decoded;
  if (options_.lines) out += '\n';
  return {};
}

}  // namespace mlt_encode
