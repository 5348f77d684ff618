#include "formats/gguf.hpp"

#include "formats/defect_list.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/show_name.hpp"
#include "util/text_hash.hpp"
#include "util/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace ml {

namespace {

constexpr std::uint64_t kHeaderBytes = 24;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxKeyBytes = 65535;
constexpr std::uint64_t kMaxNameBytes = 64;
constexpr unsigned kMaxArrayDepth = 4;
constexpr std::string_view kAlignmentKey = "general.alignment";

// The least bytes that one of them takes: lengths, types, a value of one byte; one dimension.
constexpr std::uint64_t kLeastEntry = 8 + 4 + 1;
constexpr std::uint64_t kLeastTensor = 8 + 4 + 8 + 4 + 8;

std::optional<std::uint64_t> size_of(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean: return 1;
    case GgufType::u16:
    case GgufType::i16: return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32: return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64: return 8;
    case GgufType::string:
    case GgufType::array: break;
  }
  return std::nullopt;
}

std::string dims_text(const std::vector<std::uint64_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

// Reads front to back. A function that returns false has noted a defect after which nothing more can be
// found.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  GgufReading run() {
    if (read_header() && read_entries() && read_alignment() && read_tensor_list()) {
      place_tensors();
    } else {
      out_.file.tensors.clear();  // without a place they have no data
    }
    out_.defects = defects_.take();
    return std::move(out_);
  }

 private:
  std::uint64_t left() const { return bytes_.size() - at_; }

  bool defect(std::string message, std::optional<std::uint64_t> offset, std::string_view tensor = {},
              Status status = Status::format) {
    defects_.add({.status = status,
                  .message = std::move(message),
                  .offset = offset,
                  .tensor = tensor.empty() ? std::string() : show_name(tensor)});
    return false;
  }

  template <class T>
  std::optional<T> take() {
    if (left() < sizeof(T)) return std::nullopt;
    const T value = load_le<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }

  bool ends_inside(const std::string& what) {
    return defect(fmt::format("file ends inside {}", what), bytes_.size());
  }

  bool read_header() {
    if (bytes_.size() < kHeaderBytes) {
      return defect(fmt::format("file is {} bytes, the header takes {}", bytes_.size(), kHeaderBytes), 0);
    }
    if (!is_gguf(bytes_)) return defect("file does not begin with GGUF", 0);
    at_ = 4;
    out_.file.version = *take<std::uint32_t>();
    const std::uint32_t version = out_.file.version;
    if (version != 2 && version != 3) {
      const bool swapped = version != 0 && (version & 0xffffu) == 0;
      return defect(swapped ? fmt::format("version is {:#010x}: the file is big-endian", version)
                            : fmt::format("version is {}, must be 2 or 3", version),
                    4, {}, Status::unsupported);
    }
    n_tensors_ = *take<std::uint64_t>();
    n_entries_ = *take<std::uint64_t>();
    const std::uint64_t body = left();
    if (n_tensors_ > body / kLeastTensor) {
      return defect(fmt::format("tensor count is {}, but {} bytes hold at most {}", n_tensors_, body,
                                body / kLeastTensor),
                    8);
    }
    if (n_entries_ > body / kLeastEntry) {
      return defect(
          fmt::format("key count is {}, but {} bytes hold at most {}", n_entries_, body, body / kLeastEntry),
          16);
    }
    return true;
  }

  // @param what  "the key of entry 3", "key general.name"
  std::optional<std::string_view> take_string(const std::string& what) {
    const std::uint64_t start = at_;
    const auto length = take<std::uint64_t>();
    if (!length) {
      ends_inside(what);
      return std::nullopt;
    }
    if (*length > left()) {
      defect(fmt::format("{} has {} bytes, but only {} follow", what, *length, left()), start);
      return std::nullopt;
    }
    const std::string_view text = as_text(bytes_.subspan(at_, *length));
    at_ += *length;
    return text;
  }

  bool read_entries() {
    TextSet seen;
    out_.file.entries.reserve(n_entries_);
    for (std::uint64_t i = 0; i < n_entries_; ++i) {
      const std::uint64_t start = at_;
      const auto key = take_string(fmt::format("the name of key {}", i));
      if (!key) return false;
      if (key->empty()) {
        defect(fmt::format("the name of key {} is empty", i), start);
      } else if (key->size() > kMaxKeyBytes) {
        defect(
            fmt::format("the name of key {} has {} bytes, may have {} at most", i, key->size(), kMaxKeyBytes),
            start, {}, Status::limit);
      } else if (find_invalid_utf8_byte(*key)) {
        defect(fmt::format("the name of key {}, {}, is not UTF-8", i, show_name(*key)), start);
      }
      if (!seen.insert(*key).second) defect(fmt::format("key {} is there twice", show_name(*key)), start);
      GgufEntry entry{*key, {}};
      if (!read_value(fmt::format("key {}", show_name(*key)), entry.value)) return false;
      out_.file.entries.push_back(entry);
    }
    return true;
  }

  bool read_value(const std::string& what, GgufValue& value) {
    const auto type = take<std::uint32_t>();
    if (!type) return ends_inside(what);
    value.type = static_cast<GgufType>(*type);
    if (!gguf_type_name(value.type)) {
      return defect(fmt::format("type of {} is {}, must be 0 to 12", what, *type), at_ - 4);
    }
    if (value.type == GgufType::array) return read_array(what, value, 1);
    if (value.type == GgufType::string) {
      const auto text = take_string(what);
      if (!text) return false;
      value.bytes = as_bytes(*text);
      value.offset = at_ - text->size();
      return true;
    }
    const std::uint64_t size = *size_of(value.type);
    if (left() < size) return ends_inside(what);
    return take_numbers(what, value.type, size, value);
  }

  bool take_numbers(const std::string& what, GgufType type, std::uint64_t n_bytes, GgufValue& value) {
    value.offset = at_;
    value.bytes = bytes_.subspan(at_, n_bytes);
    at_ += n_bytes;
    if (type != GgufType::boolean) return true;
    const auto bad =
        std::find_if(value.bytes.begin(), value.bytes.end(), [](std::byte b) { return b > std::byte{1}; });
    if (bad != value.bytes.end()) {
      defect(fmt::format("{} is a bool of {}, must be 0 or 1", what, std::to_integer<unsigned>(*bad)),
             value.offset + static_cast<std::uint64_t>(bad - value.bytes.begin()));
    }
    return true;
  }

  bool read_array(const std::string& what, GgufValue& value, unsigned depth) {
    const auto element = take<std::uint32_t>();
    const auto n = element ? take<std::uint64_t>() : std::nullopt;
    if (!n) return ends_inside(what);
    value.element = static_cast<GgufType>(*element);
    value.n = *n;
    if (!gguf_type_name(value.element)) {
      return defect(fmt::format("element type of {} is {}, must be 0 to 12", what, *element), at_ - 12);
    }
    const auto too_long = [&] {
      return defect(fmt::format("{} has {} elements of type {}, but only {} bytes follow", what, *n,
                                *gguf_type_name(value.element), left()),
                    at_ - 8);
    };
    if (const auto size = size_of(value.element)) {
      const auto n_bytes = (Checked(*n) * *size).get();
      if (!n_bytes || *n_bytes > left()) return too_long();
      return take_numbers(what, value.element, *n_bytes, value);
    }
    constexpr std::uint64_t kLeastString = 8, kLeastArray = 12;
    if (*n > left() / (value.element == GgufType::string ? kLeastString : kLeastArray)) return too_long();
    if (value.element == GgufType::array && depth == kMaxArrayDepth) {
      return defect(fmt::format("{} nests arrays over {} levels deep", what, kMaxArrayDepth), at_, {},
                    Status::limit);
    }
    value.offset = at_;
    for (std::uint64_t i = 0; i < *n; ++i) {
      GgufValue inner;
      if (value.element == GgufType::array) {
        if (!read_array(what, inner, depth + 1)) return false;
      } else if (!take_element(what, i)) {
        return false;
      }
    }
    value.bytes = bytes_.subspan(value.offset, at_ - value.offset);
    return true;
  }

  // A string inside an array: its text is not kept, so no name is made unless it is needed.
  bool take_element(const std::string& what, std::uint64_t i) {
    if (left() >= 8 && load_le<std::uint64_t>(bytes_.data() + at_) <= left() - 8) {
      at_ += 8 + load_le<std::uint64_t>(bytes_.data() + at_);
      return true;
    }
    return take_string(fmt::format("element {} of {}", i, what)).has_value();
  }

  bool read_alignment() {
    out_.file.alignment = kDefaultAlignment;
    const GgufValue* value = out_.file.find(kAlignmentKey);
    if (value == nullptr) return true;
    if (value->type != GgufType::u32) {
      return defect(fmt::format("{} is of type {}, must be u32", kAlignmentKey, *gguf_type_name(value->type)),
                    value->offset);
    }
    out_.file.alignment = *value->count();
    if (std::has_single_bit(out_.file.alignment)) return true;
    return defect(fmt::format("{} is {}, must be a power of two", kAlignmentKey, out_.file.alignment),
                  value->offset);
  }

  bool read_tensor_list() {
    TextSet seen;
    out_.file.tensors.reserve(n_tensors_);
    for (std::uint64_t i = 0; i < n_tensors_; ++i) {
      const std::uint64_t start = at_;
      const auto name = take_string(fmt::format("the name of tensor {}", i));
      if (!name) return false;
      if (name->empty()) {
        defect(fmt::format("the name of tensor {} is empty", i), start);
      } else if (name->size() > kMaxNameBytes) {
        defect(fmt::format("the name of tensor {} has {} bytes, may have {} at most", i, name->size(),
                           kMaxNameBytes),
               start, {}, Status::limit);
      } else if (find_invalid_utf8_byte(*name)) {
        defect(fmt::format("the name of tensor {}, {}, is not UTF-8", i, show_name(*name)), start);
      }
      if (!seen.insert(*name).second) defect("tensor is there twice", start, *name);
      if (!read_tensor(*name)) return false;
    }
    return true;
  }

  // @return false where the list cannot be followed any more; a tensor with a defect of its own is left out
  bool read_tensor(std::string_view name) {
    const std::string what = fmt::format("the entry of tensor {}", show_name(name));
    GgufTensor tensor{.name = name, .dims = {}, .data = {}};
    const std::uint64_t start = at_;
    const auto n_dims = take<std::uint32_t>();
    if (!n_dims) return ends_inside(what);
    if (*n_dims < 1 || *n_dims > kGgufMaxDims) {
      return defect(fmt::format("tensor has {} dimensions, must have 1 to {}", *n_dims, kGgufMaxDims), start,
                    name);
    }
    for (std::uint32_t d = 0; d < *n_dims; ++d) {
      const auto dim = take<std::uint64_t>();
      if (!dim) return ends_inside(what);
      tensor.dims.push_back(*dim);
    }
    const std::uint64_t type_at = at_;
    const auto type = take<std::uint32_t>();
    const auto offset = type ? take<std::uint64_t>() : std::nullopt;
    if (!offset) return ends_inside(what);
    tensor.type = find_gguf_tensor_type(*type);
    tensor.offset = *offset;
    if (tensor.type == nullptr) {
      defect(fmt::format("tensor type is {}, which is none", *type), type_at, name);
    } else if (check_shape(tensor, start + 4)) {
      out_.file.tensors.push_back(std::move(tensor));
    }
    return true;
  }

  bool check_shape(const GgufTensor& tensor, std::uint64_t at) {
    Checked n = 1;
    for (const std::uint64_t dim : tensor.dims) {
      if (dim == 0) {
        return defect(fmt::format("shape {} has a dimension of 0", dims_text(tensor.dims)), at, tensor.name);
      }
      n = n * dim;
    }
    if (n.overflowed()) {
      return defect(fmt::format("shape {} has over 2^64 elements", dims_text(tensor.dims)), at, tensor.name);
    }
    const GgufTensorType& type = *tensor.type;
    if (tensor.cols() % type.block_weights != 0) {
      return defect(fmt::format("first dimension is {}, must be a multiple of {} for {}", tensor.cols(),
                                type.block_weights, type.name),
                    at, tensor.name);
    }
    if ((Checked(*n.get() / type.block_weights) * type.block_bytes).overflowed()) {
      return defect(
          fmt::format("shape {} of {} has over 2^64 bytes", dims_text(tensor.dims), tensor.type->name), at,
          tensor.name);
    }
    return true;
  }

  static std::uint64_t n_bytes(const GgufTensor& tensor) {
    return tensor.cols() / tensor.type->block_weights * tensor.rows() * tensor.type->block_bytes;
  }

  void place_tensors() {
    const auto start = Checked(at_).round_up(out_.file.alignment).get();
    out_.file.data_offset = start.value_or(bytes_.size());
    std::vector<GgufTensor> placed;
    placed.reserve(out_.file.tensors.size());
    for (GgufTensor& tensor : out_.file.tensors) {
      if (tensor.offset % out_.file.alignment != 0) {
        defect(fmt::format("data offset is {}, must be a multiple of general.alignment, {}", tensor.offset,
                           out_.file.alignment),
               {}, tensor.name);
        continue;
      }
      const Checked begin = Checked(tensor.offset) + out_.file.data_offset;
      const auto end = (begin + n_bytes(tensor)).get();
      if (!start || !end) {
        defect(fmt::format("data offset is {}, past the end of any file", tensor.offset), {}, tensor.name);
        continue;
      }
      if (*end > bytes_.size()) {
        defect(fmt::format("file is {} bytes, the tensor needs {}", bytes_.size(), *end), {}, tensor.name);
        continue;
      }
      tensor.offset = *begin.get();
      tensor.data = bytes_.subspan(tensor.offset, n_bytes(tensor));
      placed.push_back(std::move(tensor));
    }
    out_.file.tensors = std::move(placed);
    find_overlaps();
  }

  // A tensor that overlaps one before it is taken out: a small file could name the same bytes very often.
  void find_overlaps() {
    std::vector<GgufTensor>& tensors = out_.file.tensors;
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tensors[a].offset < tensors[b].offset; });
    std::vector<bool> overlaps(tensors.size());
    const GgufTensor* furthest = nullptr;
    for (const std::size_t i : order) {
      const GgufTensor& tensor = tensors[i];
      if (furthest != nullptr && tensor.offset < furthest->offset + furthest->data.size()) {
        defect(fmt::format("data overlaps that of {}", show_name(furthest->name)), tensor.offset,
               tensor.name);
        overlaps[i] = true;
      }
      if (furthest == nullptr ||
          tensor.offset + tensor.data.size() > furthest->offset + furthest->data.size()) {
        furthest = &tensor;
      }
    }
    std::vector<GgufTensor> apart;
    apart.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!overlaps[i]) apart.push_back(std::move(tensors[i]));
    }
    tensors = std::move(apart);
  }

  std::span<const std::byte> bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t n_tensors_ = 0;
  std::uint64_t n_entries_ = 0;
  GgufReading out_;
  DefectList defects_;
};

}  // namespace

GgufReading check_gguf(std::span<const std::byte> bytes) { return Reader(bytes).run(); }

Result<GgufFile> read_gguf(std::span<const std::byte> bytes) {
  GgufReading reading = check_gguf(bytes);
  if (!reading.defects.empty()) return std::move(reading.defects.front());
  return std::move(reading.file);
}

}  // namespace ml
