#include "formats/tokenizer_json.hpp"

#include "util/bytes.hpp"
#include "util/json.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ml {

namespace {

using nlohmann::json;

/// Builds a document from the parser's events, without recursion.
class DocumentBuilder : public json::json_sax_t {
 public:
  json take() { return std::move(root_); }
  std::optional<Error> take_error() { return std::move(error_); }

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(std::int64_t v) override { return value(v); }
  bool number_unsigned(std::uint64_t v) override { return value(v); }
  bool number_float(double v, const std::string&) override { return value(v); }
  bool string(std::string& v) override { return value(std::move(v)); }
  bool binary(json::binary_t&) override { return false; }
  bool key(std::string& name) override {
    if (open_.back()->contains(name)) return fail(fmt::format("JSON key {} is there twice", show_json(name)));
    keys_.back() = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error_ = Error{Status::format, "not valid JSON in UTF-8", {}, position == 0 ? 0 : position - 1};
    return false;
  }

 protected:
  bool fail(std::string message) {
    error_ = Error{Status::format, std::move(message)};
    return false;
  }
  bool value(json v) { return count() && place(std::move(v)) != nullptr; }

  // True while the value that comes now is model.NAME.
  bool at_model_key(std::string_view name) const {
    return keys_.size() == 2 && keys_[0] == "model" && keys_[1] == name;
  }

 private:
  json* place(json v) {
    if (open_.empty()) {
      root_ = std::move(v);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(v));
      return &parent.back();
    }
    json& slot = parent[keys_.back()];
    slot = std::move(v);
    return &slot;
  }
  bool count() {
    auto counted = count_json_value(n_values_);
    if (!counted) error_ = std::move(counted.error());
    return !error_;
  }
  bool open(json container) {
    if (!count()) return false;
    if (open_.size() == kMaxJsonDepth)
      return fail(fmt::format("JSON is nested deeper than {}", kMaxJsonDepth));
    open_.push_back(place(std::move(container)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;
  std::vector<std::string> keys_;  // of the value that comes now, in each open container
  std::size_t n_values_ = 0;
  std::optional<Error> error_;
};

/// Keeps model.vocab and model.merges out of the document: half a million small arrays would not be small.
class TokenizerBuilder : public DocumentBuilder {
 public:
  explicit TokenizerBuilder(TokenizerJson& out) : out_(out) {}

  bool null() override { return part_ == Part::document ? DocumentBuilder::null() : wrong_value(); }
  bool boolean(bool v) override {
    return part_ == Part::document ? DocumentBuilder::boolean(v) : wrong_value();
  }
  bool number_integer(std::int64_t v) override {
    return part_ == Part::document ? DocumentBuilder::number_integer(v) : wrong_value();
  }
  bool number_float(double v, const std::string& text) override {
    return part_ == Part::document ? DocumentBuilder::number_float(v, text) : wrong_value();
  }
  bool number_unsigned(std::uint64_t v) override {
    if (part_ == Part::document) return DocumentBuilder::number_unsigned(v);
    if (part_ != Part::vocab || v > UINT32_MAX) return wrong_value();
    out_.vocab.push_back({std::move(token_), static_cast<std::uint32_t>(v)});
    return true;
  }
  bool string(std::string& v) override {
    if (part_ == Part::document) return DocumentBuilder::string(v);
    if (part_ == Part::merge_rows) return merge_text(v);
    if (part_ != Part::merge_pair || n_pair_ == 2) return wrong_value();
    (n_pair_++ == 0 ? pair_.left : pair_.right) = std::move(v);
    return true;
  }
  bool key(std::string& name) override {
    if (part_ == Part::document) return DocumentBuilder::key(name);
    token_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t n) override {
    if (part_ != Part::document) return wrong_value();
    if (!at_model_key("vocab")) return DocumentBuilder::start_object(n);
    out_.vocab.clear();
    out_.has_vocab = true;
    part_ = Part::vocab;
    return true;
  }
  bool end_object() override {
    if (part_ == Part::document) return DocumentBuilder::end_object();
    part_ = Part::document;
    return value(nullptr);
  }
  bool start_array(std::size_t n) override {
    if (part_ == Part::merge_rows && form_ != Form::texts) {
      form_ = Form::pairs;
      n_pair_ = 0;
      part_ = Part::merge_pair;
      return true;
    }
    if (part_ != Part::document) return wrong_value();
    if (!at_model_key("merges")) return DocumentBuilder::start_array(n);
    out_.merges.clear();
    out_.has_merges = true;
    form_ = Form::unknown;
    part_ = Part::merge_rows;
    return true;
  }
  bool end_array() override {
    if (part_ == Part::document) return DocumentBuilder::end_array();
    if (part_ == Part::merge_rows) {
      part_ = Part::document;
      return value(nullptr);
    }
    if (n_pair_ != 2) return wrong_value();
    out_.merges.push_back(std::move(pair_));
    part_ = Part::merge_rows;
    return true;
  }

 private:
  enum class Part { document, vocab, merge_rows, merge_pair };
  enum class Form { unknown, texts, pairs };

  bool merge_text(const std::string& text) {
    if (form_ == Form::pairs) return wrong_value();
    form_ = Form::texts;
    if (text.starts_with("#version")) return true;
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      return fail(fmt::format("model.merges[{}] must hold two tokens and one space", out_.merges.size()));
    }
    out_.merges.push_back({text.substr(0, space), text.substr(space + 1)});
    return true;
  }

  bool wrong_value() {
    if (part_ == Part::vocab) return fail(fmt::format("model.vocab[{}] must be an id", show_json(token_)));
    return fail(
        fmt::format("model.merges[{}] must be two tokens, all rows in the same form", out_.merges.size()));
  }

  TokenizerJson& out_;
  Part part_ = Part::document;
  Form form_ = Form::unknown;
  std::string token_;
  TokenizerJson::MergeRow pair_;
  int n_pair_ = 0;
};

Result<void> run_parser(std::span<const std::byte> bytes, DocumentBuilder& builder) {
  const std::string_view text = as_text(bytes);
  ML_CHECK(refuse_nul(text));
  try {
    if (json::sax_parse(text.begin(), text.end(), &builder)) return {};
  } catch (const std::bad_alloc&) {
    return Error{Status::nomem, "no memory for the JSON document"};
  } catch (const std::exception& exception) {
    return Error{Status::format, fmt::format("cannot read the JSON document: {}", exception.what())};
  }
  auto error = builder.take_error();
  if (!error) return Error{Status::format, "not valid JSON in UTF-8"};
  if (error->offset) error->offset = std::min<std::uint64_t>(*error->offset, bytes.size());
  return std::move(*error);
}

}  // namespace

Result<TokenizerJson> parse_tokenizer_json(std::span<const std::byte> bytes) {
  TokenizerJson out;
  TokenizerBuilder builder(out);
  ML_CHECK(run_parser(bytes, builder));
  out.document = builder.take();
  return out;
}

}  // namespace ml
