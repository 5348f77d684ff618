#include "convert/gguf_imatrix.hpp"

#include "convert/gguf_arch.hpp"
#include "formats/imatrix.hpp"
#include "util/bytes.hpp"
#include "util/name_list.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

// Metadata: general.type is "imatrix"; what text it is of, in imatrix.*, is not looked at. For each weight W
// that was multiplied with:
//
//     W.in_sum2  F32, [channels, matrices]: sums of the squares of each channel, a row for each expert
//     W.counts   F32, [1, matrices]: tokens summed
//
// Weights with the same input (queries, keys, values) repeat its sums.

namespace ml {

namespace {

constexpr std::string_view kTypeKey = "general.type";
constexpr std::string_view kTypeText = "imatrix";
constexpr std::string_view kSumsSuffix = ".in_sum2";
constexpr std::string_view kCountsSuffix = ".counts";
constexpr double kMaxCount = 0x1p62;
constexpr std::uint64_t kLeastShare = 8;  // a file fills at least an eighth of the sums it asks for

struct Entry {
  const GgufTensor* sums = nullptr;
  const GgufTensor* counts = nullptr;

  std::uint64_t n_matrices() const { return sums->rows(); }
  std::uint64_t n_channels() const { return sums->cols(); }
  float sum(std::uint64_t i) const { return load_le<float>(sums->data.data() + i * sizeof(float)); }
  float count(std::uint64_t i) const { return load_le<float>(counts->data.data() + i * sizeof(float)); }
};
using Entries = std::map<std::string_view, Entry>;  // by the weight's name

Error wrong(const GgufTensor& tensor, std::string message, Status status = Status::format) {
  return {.status = status,
          .message = std::move(message),
          .offset = tensor.offset,
          .tensor = show_name(tensor.name)};
}

// "NaN, must be finite"; empty for a number that a sum of squares or a count can be.
std::string problem_of(float value) {
  if (std::isnan(value)) return "NaN, must be finite";
  if (std::isinf(value)) return fmt::format("{}, must be finite", value);
  return value < 0 ? fmt::format("{}, must not be negative", value) : std::string();
}

Result<void> check_entry(std::string_view name, const Entry& entry) {
  if (entry.sums == nullptr)
    return wrong(*entry.counts, fmt::format("{}{} is missing", show_name(name), kSumsSuffix));
  if (entry.counts == nullptr)
    return wrong(*entry.sums, fmt::format("{}{} is missing", show_name(name), kCountsSuffix));
  for (const GgufTensor* tensor : {entry.sums, entry.counts}) {
    if (tensor->type->encoding != Encoding::f32)
      return wrong(*tensor, fmt::format("type is {}, must be F32", tensor->type->name));
  }
  const std::uint64_t n_counts = entry.counts->rows() * entry.counts->cols();
  if (n_counts != entry.n_matrices()) {
    return wrong(*entry.counts,
                 fmt::format("{} counts, but sums of {} matrices", n_counts, entry.n_matrices()),
                 Status::shape);
  }
  for (std::uint64_t i = 0; i < n_counts; ++i) {
    const float count = entry.count(i);
    std::string problem = problem_of(count);
    if (problem.empty() && (count != std::floor(count) || static_cast<double>(count) > kMaxCount))
      problem = fmt::format("{}, must be a whole number up to 2^62", count);
    if (!problem.empty()) return wrong(*entry.counts, fmt::format("count {} is {}", i, problem));
  }
  const std::uint64_t n = entry.n_channels();
  for (std::uint64_t i = 0; i < n_counts * n; ++i) {
    const float sum = entry.sum(i);
    std::string problem = problem_of(sum);
    if (problem.empty() && sum > 0 && entry.count(i / n) == 0)
      problem = fmt::format("{}, more than 0 tokens can give", sum);
    if (!problem.empty()) return wrong(*entry.sums, fmt::format("sum of channel {} is {}", i % n, problem));
  }
  return {};
}

// One input of ours and the entry that tells it.
struct Place {
  std::uint32_t layer = 0;
  ImatrixInput input = ImatrixInput::classifier;

  auto operator<=>(const Place&) const = default;
};

std::optional<Place> place_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  std::uint32_t layer = kNoLayer;
  if (name.starts_with(kPrefix)) {
    const char* end = name.data() + name.size();
    const auto [after, error] = std::from_chars(name.data() + kPrefix.size(), end, layer);
    if (error != std::errc() || after == end || *after != '.' || layer == kNoLayer) return std::nullopt;
    name.remove_prefix(static_cast<std::size_t>(after + 1 - name.data()));
  }
  const auto role = find_gguf_role(name);
  // Value heads of linear attention stand in an order there that only the model tells.
  if (!role || *role == Role::lout) return std::nullopt;
  ModelDesc multiplied;
  multiplied.shared_classifier = true;  // an embedding among the products is the classifier
  const auto input = imatrix_input(*role, multiplied);
  if (!input || (*input == ImatrixInput::classifier) != (layer == kNoLayer)) return std::nullopt;
  return Place{layer == kNoLayer ? 0 : layer, *input};
}

class Reader {
 public:
  explicit Reader(const GgufFile& file) : file_(file) {}

  Result<Imatrix> read() {
    const GgufValue* type = file_.find(kTypeKey);
    if (!is_gguf_imatrix(file_)) {
      Error error{.status = Status::format,
                  .message = fmt::format("file is no importance matrix: {} is {}, must be \"{}\"", kTypeKey,
                                         type == nullptr ? "missing" : show_gguf_value(*type), kTypeText)};
      if (type != nullptr) error.offset = type->offset;
      return error;
    }
    ML_CHECK(find_entries());
    for (const auto& [name, entry] : entries_) ML_CHECK(take(name, entry));
    ML_CHECK(find_shape());
    fill();
    return std::move(out_);
  }

 private:
  Result<void> find_entries() {
    for (const GgufTensor& tensor : file_.tensors) {
      const auto is = [&](std::string_view suffix) { return tensor.name.ends_with(suffix); };
      const std::string_view suffix = is(kSumsSuffix) ? kSumsSuffix : kCountsSuffix;
      if (!is(suffix)) {
        left_out_.add(tensor.name);
        continue;
      }
      Entry& entry = entries_[tensor.name.substr(0, tensor.name.size() - suffix.size())];
      (suffix == kSumsSuffix ? entry.sums : entry.counts) = &tensor;
    }
    for (const auto& [name, entry] : entries_) ML_CHECK(check_entry(name, entry));
    return {};
  }

  Result<void> take(std::string_view name, const Entry& entry) {
    const auto place = place_of(name);
    if (!place || entry.n_matrices() != 1) {
      left_out_.add(name);
      return {};
    }
    const auto [known, is_new] = taken_.emplace(*place, entry);
    const Entry& first = known->second;
    if (!is_new &&
        (first.n_channels() != entry.n_channels() || first.count(0) != entry.count(0) ||
         !std::equal(first.sums->data.begin(), first.sums->data.end(), entry.sums->data.begin()))) {
      return wrong(*entry.sums,
                   fmt::format("differs from {}, whose input is the same", show_name(first.sums->name)));
    }
    return {};
  }

  Result<void> take_width(std::uint64_t channels, const GgufTensor& tensor, const GgufTensor*& first) {
    if (first == nullptr) first = &tensor;
    if (channels == first->cols()) return {};
    return wrong(tensor,
                 fmt::format("{} channels, but {} in {}", channels, first->cols(), show_name(first->name)),
                 Status::shape);
  }

  Result<void> find_shape() {
    const GgufTensor* dim = nullptr;
    const GgufTensor* hidden_dim = nullptr;
    const GgufTensor* q_dim = nullptr;
    std::uint64_t n_layers = 0;
    std::uint64_t n_told = 0;
    for (const auto& [place, entry] : taken_) {
      const bool down = place.input == ImatrixInput::down;
      const GgufTensor*& first = down ? hidden_dim : place.input == ImatrixInput::o ? q_dim : dim;
      ML_CHECK(take_width(entry.n_channels(), *entry.sums, first));
      n_layers = std::max<std::uint64_t>(n_layers, place.layer + std::uint64_t{1});
      n_told += entry.n_channels();
    }
    for (const auto& [found, what] :
         {std::pair(dim, "blk.N.attn_q.weight"), std::pair(q_dim, "blk.N.attn_output.weight"),
          std::pair(hidden_dim, "blk.N.ffn_down.weight")}) {
      if (found != nullptr) continue;
      return Error{.status = Status::format, .message = fmt::format("no sums of {} in any layer", what)};
    }
    ML_TRY(out_.shape, padded_imatrix_shape(n_layers, dim->cols(), hidden_dim->cols(), q_dim->cols()));
    if (n_told >= out_.shape.n_sums() / kLeastShare) return {};
    return Error{.status = Status::format,
                 .message = fmt::format("{} sums of the {} that {} layers need", n_told, out_.shape.n_sums(),
                                        n_layers)};
  }

  void fill() {
    for (const auto& [place, entry] : taken_) {
      const auto count = static_cast<std::uint64_t>(entry.count(0));
      std::uint64_t& tokens = place.input == ImatrixInput::classifier ? out_.classifier_tokens : out_.tokens;
      tokens = std::max(tokens, count);
    }
    out_.sums.resize(out_.shape.n_sums());
    for (std::uint32_t layer = 0; layer < out_.shape.n_layers; ++layer) {
      for (const ImatrixInput input : imatrix_layer_inputs()) fill(layer, input);
    }
    fill(0, ImatrixInput::classifier);
    std::vector<std::string> parts;
    if (!missing_.empty()) parts.push_back("no sums for " + missing_.text("input"));
    if (!left_out_.empty()) parts.push_back("no place for " + left_out_.text("entry", "entries"));
    if (!parts.empty()) out_.notes.push_back(fmt::format("llama.cpp's matrix: {}", fmt::join(parts, "; ")));
  }

  void fill(std::uint32_t layer, ImatrixInput input) {
    const auto found = taken_.find({layer, input});
    if (found == taken_.end() || found->second.count(0) == 0) {
      missing_.add(imatrix_sums_name(layer, input));
      return;
    }
    const Entry& entry = found->second;
    const auto tokens = static_cast<double>(out_.tokens_of(input));
    const auto count = static_cast<double>(entry.count(0));
    double* sums = out_.sums.data() + out_.shape.first_sum(layer, input);
    for (std::uint64_t i = 0; i < entry.n_channels(); ++i)
      sums[i] = static_cast<double>(entry.sum(i)) * (tokens / count);
  }

  const GgufFile& file_;
  Entries entries_;
  std::map<Place, Entry> taken_;
  NameList missing_;
  NameList left_out_;
  Imatrix out_;
};

}  // namespace

bool is_gguf_imatrix(const GgufFile& file) {
  const GgufValue* type = file.find(kTypeKey);
  return type != nullptr && type->text() == kTypeText;
}

Result<Imatrix> read_gguf_imatrix(const GgufFile& file) { return Reader(file).read(); }

}  // namespace ml
