#include "convert/tokenizer.hpp"

#include "convert/gguf_tokenizer.hpp"
#include "convert/tokenizer_specials.hpp"
#include "convert/tokenizer_vocab.hpp"
#include "formats/mog.hpp"
#include "util/bytes.hpp"
#include "util/json.hpp"
#include "util/mapped_file.hpp"
#include "util/try.hpp"

#include <filesystem>

namespace ml {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Decoding strips one space where encoding puts U+2581 before the text. A tokenizer.json may say otherwise.
void note_decoder(const json& document, const MltContents& contents, ConversionLog& log) {
  if (contents.kind != TokenizerKind::sentencepiece) return;
  const auto steps = pipeline_steps(document, "decoder", "decoders");
  if (!steps) return;
  bool strips = false;
  for (const PipelineStep& step : *steps) strips = strips || step.type == "Strip" || step.type == "Metaspace";
  const bool prefix = (contents.flags & kMltNoPrefix) == 0;
  if (strips == prefix || steps->empty()) return;
  log.note(prefix ? "decoder: does not strip the leading space, decoding with a .mlt does"
                  : "decoder: strips a leading space, decoding with a .mlt does not");
}

Result<MltContents> convert(const TokenizerJson& source, const TokenizerSideFiles& beside,
                            ConversionLog& log) {
  ML_TRY(const TokenizerPipeline pipeline, read_tokenizer_pipeline(source, log));
  ML_TRY(const TokenizerVocab vocab, TokenizerVocab::read(source, pipeline, log));
  MltContents contents;
  contents.kind = pipeline.kind;
  contents.flags = pipeline.flags;
  ML_TRY(contents.tokens, convert_tokens(vocab, pipeline, log));
  ML_TRY(contents.merges, convert_merges(source, vocab, contents.tokens, pipeline.kind, log));
  if (vocab.n_ids() == 0) return ConversionLog::malformed("model.vocab", "is empty");
  if (pipeline.bos && *pipeline.bos >= vocab.n_ids()) {
    return ConversionLog::malformed("post_processor", fmt::format("prepends id {}, past the vocabulary of {}",
                                                                  *pipeline.bos, vocab.n_ids()));
  }
  choose_specials(contents, pipeline, vocab, beside, log);
  note_decoder(source.document, contents, log);
  return contents;
}

// Drops the tokens from max_vocab on. Added tokens may go; what the model's own text needs may not.
Result<void> cut_vocab(MltContents& contents, std::uint32_t max_vocab, ConversionLog& log) {
  MltTokens& tokens = contents.tokens;
  if (tokens.size() <= max_vocab) return {};
  const auto limit = [&](std::string what) {
    return Error{Status::limit,
                 fmt::format("{}, must be below the largest vocabulary asked for, {}", what, max_vocab)};
  };
  for (const auto& [name, id] : {std::pair("bos", contents.bos), {"eos", contents.eos}}) {
    if (id >= 0 && static_cast<std::uint32_t>(id) >= max_vocab)
      return limit(fmt::format("{} is {}", name, id));
  }
  std::uint32_t n_dropped = 0;
  for (std::uint32_t id = max_vocab; id < tokens.size(); ++id) {
    if (tokens.attr(id) != TokenAttr::added && !tokens.bytes(id).empty())
      return limit(fmt::format("a token's id is {}", id));
    n_dropped += tokens.attr(id) == TokenAttr::added;
  }
  for (const MltMerge& merge : contents.merges) {
    const std::uint32_t id = std::max({merge.left, merge.right, merge.merged});
    if (id >= max_vocab) return limit(fmt::format("an id of a merge rule is {}", id));
  }
  MltTokens kept;
  for (std::uint32_t id = 0; id < max_vocab; ++id) kept.push_back(tokens.attr(id), tokens.bytes(id));
  tokens = std::move(kept);
  log.note(fmt::format("dropped: {} added tokens with ids from {} on", n_dropped, max_vocab));
  return {};
}

Result<json> read_beside(const fs::path& folder, const char* name) {
  const std::string path = (folder / name).string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return json();
  ML_TRY(const auto input, InputBytes::open_regular(path, kMaxJsonBytes));
  auto document = parse_json(as_text(input->data()));
  if (!document) return with_path(std::move(document.error()), path);
  return document;
}

bool looks_like_json(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && (text[first] == '{' || text.starts_with("\xEF\xBB\xBF"));
}

Error no_tokenizer(std::span<const std::byte> bytes) {
  return {Status::format,
          bytes.empty() ? "the file is empty" : "is no .mlt (\"MLT1\"), .mog, .gguf or tokenizer.json",
          {},
          0};
}

Result<std::uint64_t> tokenizer_start(std::span<const std::byte> start) {
  if (is_mlt(start) || is_gguf(start) || is_mog(start)) return kNoMaxBytes;
  if (looks_like_json(start)) return kMaxJsonBytes;
  return no_tokenizer(start);
}

Result<TokenizerSideFiles> read_side_files(const fs::path& folder) {
  TokenizerSideFiles beside;
  ML_TRY(beside.tokenizer_config, read_beside(folder, "tokenizer_config.json"));
  ML_TRY(beside.config, read_beside(folder, "config.json"));
  ML_TRY(beside.generation_config, read_beside(folder, "generation_config.json"));
  return beside;
}

}  // namespace

Result<LoadedTokenizer> load_tokenizer(std::span<const std::byte> bytes, const TokenizerSideFiles& beside,
                                       const PackOptions& options) {
  ConversionLog log(options);
  LoadedTokenizer loaded;
  if (is_mlt(bytes)) {
    ML_TRY(loaded.contents, read_mlt(bytes));
    if (const std::uint32_t extensions = options.strict ? loaded.contents.flags & kMltExtensions : 0) {
      return Error{Status::unsupported,
                   fmt::format("flags have the extension bit {}", extensions & -extensions),
                   {},
                   28};
    }
  } else if (is_gguf(bytes)) {
    ML_TRY(const GgufFile file, read_gguf(bytes));
    ML_TRY(loaded.contents, convert_gguf_tokenizer(file, log));
  } else {
    if (!looks_like_json(bytes)) return no_tokenizer(bytes);
    if (bytes.size() > kMaxJsonBytes) {
      return Error{.status = Status::limit,
                   .message = fmt::format("tokenizer.json holds {} bytes, must be at most {}", bytes.size(),
                                          kMaxJsonBytes)};
    }
    ML_TRY(const TokenizerJson source, parse_tokenizer_json(bytes));
    ML_TRY(loaded.contents, convert(source, beside, log));
  }
  if (options.max_vocab) ML_CHECK(cut_vocab(loaded.contents, *options.max_vocab, log));
  loaded.notes = log.take_notes();
  return loaded;
}

Result<TokenizerSource> open_tokenizer(const std::string& path) {
  std::error_code ignored;
  const bool folder = path != "-" && fs::is_directory(path, ignored);
  TokenizerSource source{folder ? (fs::path(path) / "tokenizer.json").string() : path, nullptr};
  ML_TRY(source.input, folder ? InputBytes::open_regular(source.path, kMaxJsonBytes)
                              : InputBytes::open(source.path, {}, tokenizer_start));
  return source;
}

Result<LoadedTokenizer> load_tokenizer(const TokenizerSource& source, const PackOptions& options) {
  const std::string& file = source.path;
  TokenizerSideFiles beside;
  if (file != "-" && !is_mlt(source.input->data()) && !is_gguf(source.input->data())) {
    ML_TRY(beside, read_side_files(fs::path(file).parent_path()));
  }
  auto loaded = load_tokenizer(source.input->data(), beside, options);
  if (!loaded) return with_path(std::move(loaded.error()), file);
  return loaded;
}

Result<LoadedTokenizer> load_tokenizer(const std::string& path, const PackOptions& options) {
  ML_TRY(const TokenizerSource source, open_tokenizer(path));
  return load_tokenizer(source, options);
}

bool has_own_tokenizer(const std::string& path) {
  std::error_code ignored;
  if (path == "-" || !fs::is_regular_file(path, ignored)) return false;
  const auto input = InputBytes::open_regular(path);
  if (!input || !is_gguf((*input)->data())) return false;
  const auto file = read_gguf((*input)->data());
  return file && has_gguf_tokenizer(*file);
}

Result<PackedTokenizer> pack_tokenizer(const std::string& path, const PackOptions& options) {
  ML_TRY(LoadedTokenizer loaded, load_tokenizer(path, options));
  auto bytes = write_mlt(loaded.contents);
  if (!bytes) return with_path(std::move(bytes.error()), path);
  if (loaded.contents.eos < 0) {
    loaded.notes.push_back(
        "no end-of-text token is known: neither the file nor a tokenizer_config.json or config.json beside "
        "it "
        "names one");
  }
  return PackedTokenizer{std::move(*bytes), std::move(loaded.notes)};
}

}  // namespace ml
