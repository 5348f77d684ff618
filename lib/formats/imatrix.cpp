#include "formats/imatrix.hpp"

#include "convert/gguf_imatrix.hpp"
#include "formats/defect_list.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

// An MLI1 file, all little-endian, nothing padded (mli(5)):
//
//     0  char[4]    "MLI1"
//     4  u32        version, 1
//     8  u32        n_layers
//    12  u32        dim
//    16  u32        hidden_dim
//    20  u32        q_dim, or 0 where it is dim
//    24  u64        tokens summed into the layers
//    32  u64        tokens summed into the classifier
//    40  float64[]  for each layer: qkv (dim), o (q_dim), gate_up (dim), down (hidden_dim);
//                   then the classifier (dim)
//
// and nothing after the last sum.

namespace ml {

namespace {

constexpr std::string_view kMagic = "MLI1";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kHeaderBytes = 40;
constexpr std::uint64_t kSumBytes = sizeof(double);
constexpr std::uint64_t kVersionAt = 4, kLayersAt = 8, kDimAt = 12, kHiddenAt = 16, kQDimAt = 20,
                        kTokensAt = 24, kClassifierTokensAt = 32;
constexpr std::uint32_t kMaxDim = 65536;
// No float32 has a square of 2^256.
constexpr double kMaxSquare = 0x1p256;

constexpr std::array kLayerInputs{ImatrixInput::qkv, ImatrixInput::o, ImatrixInput::gate_up,
                                  ImatrixInput::down};

Error bad(Status status, std::uint64_t offset, std::string message) {
  return {.status = status, .message = std::move(message), .offset = offset};
}

Result<void> check_dimension(std::string_view name, std::uint32_t value, std::uint32_t multiple,
                             std::uint64_t offset) {
  if (value == 0 || value > kMaxDim) {
    return bad(Status::shape, offset, fmt::format("{} is {}, must be 1 to {}", name, value, kMaxDim));
  }
  if (value % multiple != 0) {
    return bad(Status::shape, offset,
               fmt::format("{} is {}, must be a multiple of {}", name, value, multiple));
  }
  return {};
}

std::vector<Error> shape_defects(const ImatrixShape& shape) {
  std::vector<Error> defects;
  const auto check = [&](std::string_view name, std::uint32_t value, std::uint32_t multiple,
                         std::uint64_t offset) {
    if (auto sound = check_dimension(name, value, multiple, offset); !sound)
      defects.push_back(std::move(sound.error()));
  };
  check("n_layers", shape.n_layers, 1, kLayersAt);
  check("dim", shape.dim, kBlock, kDimAt);
  check("hidden_dim", shape.hidden_dim, kBlock, kHiddenAt);
  check("q_dim", shape.q_dim, kBlock, kQDimAt);
  return defects;
}

Result<void> check_shape(const ImatrixShape& shape) {
  std::vector<Error> defects = shape_defects(shape);
  if (!defects.empty()) return std::move(defects.front());
  return {};
}

struct Header {
  ImatrixShape shape;
  std::uint64_t tokens;
  std::uint64_t classifier_tokens;
};

// The form before GGUF: u32 entries, then u32 length and name of the first one.
bool looks_like_dat(std::span<const std::byte> bytes) {
  return bytes.size() > 12 && load_le<std::uint32_t>(bytes.data() + 4) < 256 &&
         (as_text(bytes).substr(8).starts_with("blk.") || as_text(bytes).substr(8).starts_with("output."));
}

// The header alone, whatever follows it.
// @param defects  not null: takes those that stand beside the one that is returned
Result<Header> read_fields(std::span<const std::byte> bytes, std::vector<Error>* defects = nullptr) {
  if (bytes.empty()) return bad(Status::format, 0, "file is empty");
  if (!as_text(bytes).starts_with(kMagic.substr(0, std::min(bytes.size(), kMagic.size())))) {
    return bad(Status::format, 0,
               looks_like_dat(bytes)
                   ? "file looks like llama.cpp's older .dat form: llama-imatrix --in-file makes it GGUF"
                   : "is neither MLI1 nor GGUF");
  }
  if (bytes.size() < kHeaderBytes) {
    return bad(Status::format, bytes.size(),
               fmt::format("file is {} bytes, the header needs {}", bytes.size(), kHeaderBytes));
  }
  const auto u32 = [&](std::uint64_t at) { return load_le<std::uint32_t>(bytes.data() + at); };
  if (u32(kVersionAt) != kVersion) {
    return bad(Status::format, kVersionAt,
               fmt::format("version is {}, must be {}", u32(kVersionAt), kVersion));
  }
  Header header{.shape = {.n_layers = u32(kLayersAt),
                          .dim = u32(kDimAt),
                          .hidden_dim = u32(kHiddenAt),
                          .q_dim = u32(kQDimAt)},
                .tokens = load_le<std::uint64_t>(bytes.data() + kTokensAt),
                .classifier_tokens = load_le<std::uint64_t>(bytes.data() + kClassifierTokensAt)};
  std::vector<Error> found;
  const bool q_dim_is_dim = header.shape.q_dim == header.shape.dim && header.shape.dim != 0;
  if (q_dim_is_dim) {
    found.push_back(bad(Status::format, kQDimAt,
                        fmt::format("q_dim is {}, must be 0 where it is dim", header.shape.dim)));
  }
  const bool own_q_dim = header.shape.q_dim != 0 && !q_dim_is_dim;
  if (header.shape.q_dim == 0) header.shape.q_dim = header.shape.dim;
  for (Error& error : shape_defects(header.shape)) {
    if (own_q_dim || error.offset != kQDimAt) found.push_back(std::move(error));  // else it is said of dim
  }
  if (found.empty()) return header;
  Error first = std::move(found.front());
  if (defects != nullptr)
    defects->assign(std::move_iterator(found.begin() + 1), std::move_iterator(found.end()));
  return first;
}

std::optional<Error> size_defect(const Header& header, std::span<const std::byte> bytes) {
  const std::uint64_t wanted = imatrix_sum_offset(header.shape.n_sums());
  if (bytes.size() < wanted) {
    return bad(Status::format, bytes.size(),
               fmt::format("file is {} bytes, its sums need {}", bytes.size(), wanted));
  }
  if (bytes.size() > wanted) {
    return bad(Status::format, wanted, fmt::format("{} bytes after the last sum", bytes.size() - wanted));
  }
  return std::nullopt;
}

Result<Header> read_header(std::span<const std::byte> bytes) {
  ML_TRY(const Header header, read_fields(bytes));
  if (auto error = size_defect(header, bytes)) return *std::move(error);
  return header;
}

// What is wrong with one sum of so many tokens that is not sound.
std::string sum_problem(double sum, std::uint64_t tokens) {
  if (std::isnan(sum)) return "NaN, must be finite";
  if (std::isinf(sum)) return fmt::format("{}, must be finite", sum);
  if (sum < 0) return fmt::format("{}, must not be negative", sum);
  return fmt::format("{}, more than {} tokens can give", sum, tokens);
}

bool is_sound(double sum, std::uint64_t tokens) {
  return sum >= 0 && sum <= kMaxSquare * static_cast<double>(tokens);
}

// Calls found(make), where make() is the error, for each defect until it returns false.
// @param n_sums  those that are there
template <class SumAt, class Found>
void scan_sums(const Header& header, std::uint64_t n_sums, const SumAt& sum_at, const Found& found) {
  const auto scan = [&](std::uint32_t layer, ImatrixInput input, std::uint64_t tokens) {
    const std::uint64_t first = header.shape.first_sum(layer, input);
    for (std::uint64_t i = 0; i < header.shape.n_channels(input); ++i) {
      if (first + i >= n_sums) return false;
      const double sum = sum_at(first + i);
      if (is_sound(sum, tokens)) continue;
      const auto make = [&] {
        return Error{.status = Status::format,
                     .message = fmt::format("sum of channel {} is {}", i, sum_problem(sum, tokens)),
                     .offset = imatrix_sum_offset(first + i),
                     .tensor = imatrix_sums_name(layer, input)};
      };
      if (!found(make)) return false;
    }
    return true;
  };
  for (std::uint32_t layer = 0; layer < header.shape.n_layers; ++layer) {
    for (const ImatrixInput input : kLayerInputs) {
      if (!scan(layer, input, header.tokens)) return;
    }
  }
  scan(0, ImatrixInput::classifier, header.classifier_tokens);
}

Result<std::uint64_t> imatrix_start(std::span<const std::byte> start) {
  if (is_gguf(start)) return kNoMaxBytes;
  ML_TRY(const Header header, read_fields(start));
  return imatrix_sum_offset(header.shape.n_sums()) +
         kHeaderBytes;  // what is too much is the reader's to name
}

template <class SumAt>
Result<void> check_sums(const Header& header, const SumAt& sum_at) {
  Result<void> result;
  scan_sums(header, header.shape.n_sums(), sum_at, [&](const auto& make) {
    result = make();
    return false;
  });
  return result;
}

Result<Imatrix> read_gguf_form(std::span<const std::byte> bytes) {
  ML_TRY(const GgufFile file, read_gguf(bytes));
  return read_gguf_imatrix(file);
}

Result<ImatrixFile> read_file(std::shared_ptr<const InputBytes> input) {
  if (is_gguf(input->data())) {
    ML_TRY(Imatrix imatrix, read_gguf_form(input->data()));
    return ImatrixFile{std::move(imatrix), nullptr};
  }
  ML_TRY(const Header header, read_header(input->data()));
  ImatrixFile file{
      {.shape = header.shape, .tokens = header.tokens, .classifier_tokens = header.classifier_tokens},
      std::move(input)};
  ML_CHECK(check_sums(header, [&](std::uint64_t i) { return file.sum(i); }));
  return file;
}

}  // namespace

std::string_view imatrix_input_name(ImatrixInput input) {
  switch (input) {
    case ImatrixInput::qkv: return "qkv";
    case ImatrixInput::o: return "o";
    case ImatrixInput::gate_up: return "gate_up";
    case ImatrixInput::down: return "down";
    case ImatrixInput::classifier: return "classifier";
  }
  return {};
}

std::span<const ImatrixInput> imatrix_layer_inputs() { return kLayerInputs; }

std::string imatrix_sums_name(std::uint32_t layer, ImatrixInput input) {
  const std::string_view name = imatrix_input_name(input);
  return input == ImatrixInput::classifier ? std::string(name) : fmt::format("layers.{}.{}", layer, name);
}

std::uint64_t ImatrixShape::n_bytes() const { return kHeaderBytes + n_sums() * kSumBytes; }

std::uint64_t ImatrixShape::first_sum(std::uint32_t layer, ImatrixInput input) const {
  const std::uint64_t base = layer * n_layer_channels();
  switch (input) {
    case ImatrixInput::qkv: return base;
    case ImatrixInput::o: return base + dim;
    case ImatrixInput::gate_up: return base + dim + q_dim;
    case ImatrixInput::down: return base + 2ull * dim + q_dim;
    case ImatrixInput::classifier: return n_layers * n_layer_channels();
  }
  return 0;
}

Result<ImatrixShape> padded_imatrix_shape(std::uint64_t n_layers, std::uint64_t dim, std::uint64_t hidden_dim,
                                          std::uint64_t q_dim) {
  const auto narrow = [](std::uint64_t n) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, UINT32_MAX));
  };
  const std::uint64_t padded =
      hidden_dim > kMaxDim ? hidden_dim : (hidden_dim + kBlock - 1) / kBlock * kBlock;
  const ImatrixShape shape{
      .n_layers = narrow(n_layers), .dim = narrow(dim), .hidden_dim = narrow(padded), .q_dim = narrow(q_dim)};
  if (auto sound = check_shape(shape); !sound) {
    sound.error().offset.reset();
    return std::move(sound.error());
  }
  return shape;
}

Result<ImatrixShape> imatrix_shape(const ModelDesc& desc) {
  ML_TRY(const ImatrixShape shape,
         padded_imatrix_shape(desc.n_layers(), desc.dim, desc.hidden_dim, desc.q_dim()));
  for (const LayerDesc& layer : desc.layers) {
    if (layer.kind != LayerKind::gated_delta || desc.linear.n_values() == shape.q_dim) continue;
    return Error{.status = Status::shape,
                 .message = fmt::format(
                     "linear attention puts out {} values (lin_v_heads x lin_v_dim), but q_dim is {}: an "
                     "importance matrix has no place for them",
                     desc.linear.n_values(), shape.q_dim)};
  }
  return shape;
}

std::optional<ImatrixInput> imatrix_input(Role role, const ModelDesc& desc) {
  switch (role) {
    case Role::wq:
    case Role::wk:
    case Role::wv:
    case Role::wg:
    case Role::lqkv:
    case Role::lz:
    case Role::lb:
    case Role::la:
    case Role::v_router:
    case Role::v_expert:
    case Role::kv_a_x:
    case Role::k_rope_proj: return ImatrixInput::qkv;
    case Role::wo:
    case Role::lout: return ImatrixInput::o;
    case Role::w1:
    case Role::w3:
    case Role::router:
    case Role::expert_w1:
    case Role::expert_w3:
    case Role::shared_w1:
    case Role::shared_w3: return ImatrixInput::gate_up;
    case Role::w2: return ImatrixInput::down;
    case Role::wcls: return ImatrixInput::classifier;
    case Role::tok_emb:
      // An embedding of its own is looked up, not multiplied.
      return desc.shared_classifier ? std::optional(ImatrixInput::classifier) : std::nullopt;
    default: return std::nullopt;
  }
}

Result<void> check_imatrix_fits(const Imatrix& imatrix, const ModelDesc& desc) {
  ML_TRY(const ImatrixShape shape, imatrix_shape(desc));
  return check_same_shape(imatrix.shape, shape, "the model");
}

std::uint64_t imatrix_sum_offset(std::uint64_t index) { return kHeaderBytes + index * kSumBytes; }

std::optional<std::uint64_t> imatrix_file_bytes(std::span<const std::byte> start) {
  const auto header = read_fields(start);
  if (!header) return {};
  return imatrix_sum_offset(header->shape.n_sums());
}

double ImatrixFile::sum(std::uint64_t index) const {
  if (bytes == nullptr) return head.sums[index];
  return load_le<double>(bytes->data().data() + imatrix_sum_offset(index));
}

Result<ImatrixFile> open_imatrix_file(const std::string& path) {
  ML_TRY(auto input, InputBytes::open(path, {}, imatrix_start));
  auto file = read_file(std::move(input));
  if (!file) return with_path(std::move(file.error()), path);
  return file;
}

Result<void> check_same_shape(const ImatrixShape& shape, const ImatrixShape& other,
                              const std::string& where) {
  const auto check = [&](std::string_view name, std::uint32_t value, std::uint32_t wanted,
                         std::uint64_t offset) -> Result<void> {
    if (value == wanted) return {};
    return bad(Status::shape, offset, fmt::format("{} is {}, but {} in {}", name, value, wanted, where));
  };
  ML_CHECK(check("n_layers", shape.n_layers, other.n_layers, kLayersAt));
  ML_CHECK(check("dim", shape.dim, other.dim, kDimAt));
  ML_CHECK(check("hidden_dim", shape.hidden_dim, other.hidden_dim, kHiddenAt));
  return check("q_dim", shape.q_dim, other.q_dim, kQDimAt);
}

Result<Imatrix> read_imatrix(std::span<const std::byte> bytes) {
  if (is_gguf(bytes)) return read_gguf_form(bytes);
  ML_TRY(const Header header, read_header(bytes));
  Imatrix imatrix{.shape = header.shape,
                  .tokens = header.tokens,
                  .classifier_tokens = header.classifier_tokens,
                  .sums = std::vector<double>(header.shape.n_sums())};
  load_le(bytes.data() + kHeaderBytes, std::span(imatrix.sums));
  ML_CHECK(check_sums(header, [&](std::uint64_t i) { return imatrix.sums[i]; }));
  return imatrix;
}

Result<Imatrix> open_imatrix(const std::string& path) {
  ML_TRY(const auto input, InputBytes::open(path, {}, imatrix_start));
  auto imatrix = read_imatrix(input->data());
  if (!imatrix) return with_path(std::move(imatrix.error()), path);
  return imatrix;
}

std::vector<Error> check_imatrix(std::span<const std::byte> bytes) {
  if (is_gguf(bytes)) {
    if (auto read = read_gguf_form(bytes); !read) return {std::move(read.error())};
    return {};
  }
  std::vector<Error> further;
  auto header = read_fields(bytes, &further);
  if (!header) {  // and where which sums lie is not known
    further.insert(further.begin(), std::move(header.error()));
    return further;
  }
  DefectList defects;
  if (auto error = size_defect(*header, bytes)) defects.add(*std::move(error));
  const std::uint64_t n_sums = (bytes.size() - kHeaderBytes) / kSumBytes;
  const auto sum_at = [&](std::uint64_t i) { return load_le<double>(bytes.data() + imatrix_sum_offset(i)); };
  scan_sums(*header, n_sums, sum_at, [&](const auto& make) {
    defects.add_made(make);
    return true;
  });
  return defects.take();
}

Result<void> write_imatrix(const Imatrix& imatrix, OutputFile& out) {
  const ImatrixShape& shape = imatrix.shape;
  ML_CHECK(check_shape(shape));
  if (imatrix.sums.size() != shape.n_sums()) {
    return Error{.status = Status::format,
                 .message = fmt::format("{} sums, must be {}", imatrix.sums.size(), shape.n_sums())};
  }
  ML_CHECK(check_sums({shape, imatrix.tokens, imatrix.classifier_tokens},
                      [&](std::uint64_t i) { return imatrix.sums[i]; }));
  std::array<std::byte, kHeaderBytes> header;
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  store_le(header.data() + kVersionAt, kVersion);
  store_le(header.data() + kLayersAt, shape.n_layers);
  store_le(header.data() + kDimAt, shape.dim);
  store_le(header.data() + kHiddenAt, shape.hidden_dim);
  store_le(header.data() + kQDimAt, shape.q_dim == shape.dim ? 0u : shape.q_dim);
  store_le(header.data() + kTokensAt, imatrix.tokens);
  store_le(header.data() + kClassifierTokensAt, imatrix.classifier_tokens);
  ML_CHECK(out.write(header));
  return out.write(LittleEndian(std::span(imatrix.sums)).bytes());
}

}  // namespace ml
