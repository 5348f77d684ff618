#include "formats/gguf.hpp"

#include "util/bytes.hpp"

#include <algorithm>

namespace ml {

namespace {

// Tensor types by their numbers in ggml. Numbers that are left out (4, 5, 31 to 33, 36 to 38) were withdrawn.
constexpr std::array kTensorTypes{
    GgufTensorType{0, "F32", 1, 4, Encoding::f32},
    GgufTensorType{1, "F16", 1, 2, Encoding::f16},
    GgufTensorType{2, "Q4_0", 32, 18, Encoding::q4_0},
    GgufTensorType{3, "Q4_1", 32, 20},
    GgufTensorType{6, "Q5_0", 32, 22},
    GgufTensorType{7, "Q5_1", 32, 24},
    GgufTensorType{8, "Q8_0", 32, 34, Encoding::q8_0},
    GgufTensorType{9, "Q8_1", 32, 36},
    GgufTensorType{10, "Q2_K", 256, 84},
    GgufTensorType{11, "Q3_K", 256, 110},
    GgufTensorType{12, "Q4_K", 256, 144},
    GgufTensorType{13, "Q5_K", 256, 176},
    GgufTensorType{14, "Q6_K", 256, 210},
    GgufTensorType{15, "Q8_K", 256, 292},
    GgufTensorType{16, "IQ2_XXS", 256, 66},
    GgufTensorType{17, "IQ2_XS", 256, 74},
    GgufTensorType{18, "IQ3_XXS", 256, 98},
    GgufTensorType{19, "IQ1_S", 256, 50},
    GgufTensorType{20, "IQ4_NL", 32, 18},
    GgufTensorType{21, "IQ3_S", 256, 110},
    GgufTensorType{22, "IQ2_S", 256, 82},
    GgufTensorType{23, "IQ4_XS", 256, 136},
    GgufTensorType{24, "I8", 1, 1},
    GgufTensorType{25, "I16", 1, 2},
    GgufTensorType{26, "I32", 1, 4},
    GgufTensorType{27, "I64", 1, 8},
    GgufTensorType{28, "F64", 1, 8},
    GgufTensorType{29, "IQ1_M", 256, 56},
    GgufTensorType{30, "BF16", 1, 2, Encoding::bf16},
    GgufTensorType{34, "TQ1_0", 256, 54},
    GgufTensorType{35, "TQ2_0", 256, 66},
    GgufTensorType{39, "MXFP4", 32, 17},
    GgufTensorType{40, "NVFP4", 64, 36},
    GgufTensorType{41, "Q1_0", 128, 18},
    GgufTensorType{42, "Q2_0", 64, 18},
};

constexpr std::array<std::string_view, 13> kTypeNames{
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64",
};

// A whole number; negative ones as such.
std::optional<std::int64_t> signed_of(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::i8: return load_le<std::int8_t>(at);
    case GgufType::i16: return load_le<std::int16_t>(at);
    case GgufType::i32: return load_le<std::int32_t>(at);
    case GgufType::i64: return load_le<std::int64_t>(at);
    default: return std::nullopt;
  }
}

std::optional<std::uint64_t> unsigned_of(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::u8: return load_le<std::uint8_t>(at);
    case GgufType::u16: return load_le<std::uint16_t>(at);
    case GgufType::u32: return load_le<std::uint32_t>(at);
    case GgufType::u64: return load_le<std::uint64_t>(at);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<std::string_view> gguf_type_name(GgufType type) {
  const auto number = static_cast<std::size_t>(type);
  return number < kTypeNames.size() ? std::optional(kTypeNames[number]) : std::nullopt;
}

const GgufTensorType* find_gguf_tensor_type(std::uint32_t id) {
  const auto row = std::find_if(kTensorTypes.begin(), kTensorTypes.end(),
                                [id](const GgufTensorType& type) { return type.id == id; });
  return row == kTensorTypes.end() ? nullptr : &*row;
}

const GgufTensorType* find_gguf_tensor_type(std::string_view name) {
  const auto row = std::find_if(kTensorTypes.begin(), kTensorTypes.end(),
                                [name](const GgufTensorType& type) { return type.name == name; });
  return row == kTensorTypes.end() ? nullptr : &*row;
}

std::optional<std::string_view> GgufValue::text() const {
  return type == GgufType::string ? std::optional(as_text(bytes)) : std::nullopt;
}

std::optional<std::uint64_t> GgufValue::count() const {
  if (const auto value = signed_of(type, bytes.data())) {
    return *value < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(*value));
  }
  return unsigned_of(type, bytes.data());
}

std::optional<double> GgufValue::number() const {
  if (type == GgufType::f32) return static_cast<double>(load_le<float>(bytes.data()));
  if (type == GgufType::f64) return load_le<double>(bytes.data());
  if (const auto value = signed_of(type, bytes.data())) return static_cast<double>(*value);
  if (const auto value = unsigned_of(type, bytes.data())) return static_cast<double>(*value);
  return std::nullopt;
}

std::optional<bool> GgufValue::flag() const {
  return type == GgufType::boolean ? std::optional(bytes[0] != std::byte{0}) : std::nullopt;
}

std::optional<std::vector<std::string_view>> GgufValue::texts(std::uint64_t most) const {
  if (type != GgufType::array || element != GgufType::string) return std::nullopt;
  std::vector<std::string_view> list;
  list.reserve(std::min(n, most));
  const std::string_view all = as_text(bytes);
  for (std::size_t begin = 0; begin < all.size() && list.size() < most;) {
    const auto length = load_le<std::uint64_t>(all.data() + begin);
    list.push_back(all.substr(begin + sizeof length, length));
    begin += sizeof length + length;
  }
  return list;
}

bool GgufValue::is_list() const {
  return type == GgufType::array && element != GgufType::string && element != GgufType::array;
}

GgufValue GgufValue::at(std::uint64_t i) const {
  const std::uint64_t size = bytes.size() / n;
  return {.type = element, .offset = offset + i * size, .bytes = bytes.subspan(i * size, size)};
}

std::uint64_t GgufTensor::rows() const {
  std::uint64_t rows = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) rows *= dims[i];
  return rows;
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [key](const GgufEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [name](const GgufTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

bool is_gguf(std::span<const std::byte> bytes) { return as_text(bytes).starts_with("GGUF"); }

}  // namespace ml
