#include "formats/safetensors.hpp"

#include "formats/defect_list.hpp"
#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/json.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ml {

namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::size_t kMaxDims = 64;  // as many as PyTorch and NumPy have
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::array kDtypes{
    SafetensorsDtype{"F64", 64, std::nullopt},    SafetensorsDtype{"F32", 32, Encoding::f32},
    SafetensorsDtype{"F16", 16, Encoding::f16},   SafetensorsDtype{"BF16", 16, Encoding::bf16},
    SafetensorsDtype{"I64", 64, std::nullopt},    SafetensorsDtype{"I32", 32, std::nullopt},
    SafetensorsDtype{"I16", 16, std::nullopt},    SafetensorsDtype{"I8", 8, std::nullopt},
    SafetensorsDtype{"U64", 64, std::nullopt},    SafetensorsDtype{"U32", 32, std::nullopt},
    SafetensorsDtype{"U16", 16, std::nullopt},    SafetensorsDtype{"U8", 8, std::nullopt},
    SafetensorsDtype{"BOOL", 8, std::nullopt},    SafetensorsDtype{"C64", 64, std::nullopt},
    SafetensorsDtype{"F8_E4M3", 8, std::nullopt}, SafetensorsDtype{"F8_E5M2", 8, std::nullopt},
    SafetensorsDtype{"F8_E8M0", 8, std::nullopt}, SafetensorsDtype{"F6_E2M3", 6, std::nullopt},
    SafetensorsDtype{"F6_E3M2", 6, std::nullopt}, SafetensorsDtype{"F4", 4, std::nullopt},
};

// Takes defects until it has enough of them: the first one when reading, all when checking.
class Defects {
 public:
  explicit Defects(bool all) : all_(all) {}

  void add(Error error) { found_.add(std::move(error)); }
  bool enough() const { return !all_ && !found_.empty(); }
  std::vector<Error> take() { return found_.take(); }

 private:
  bool all_;
  DefectList found_;
};

Error defect(std::string message, std::uint64_t offset) {
  return {.status = Status::format, .message = std::move(message), .offset = offset};
}

Error tensor_defect(std::string_view name, std::string message) {
  return {.status = Status::format, .message = std::move(message), .tensor = show_name(name)};
}

// data_offsets may be anything: their sum with the header's end need not fit 64 bits.
std::string sum_text(std::uint64_t a, std::uint64_t b) {
  const auto sum = (Checked(a) + b).get();
  return sum ? std::to_string(*sum) : "over 2^64";
}

bool is_count(const json& value) { return value.is_number_unsigned(); }

Result<std::string_view> find_header(std::span<const std::byte> bytes) {
  if (bytes.empty()) return defect("file is empty", 0);
  if (bytes.size() < kLengthBytes) {
    return defect(
        fmt::format("file is {} bytes, the header length alone takes {}", bytes.size(), kLengthBytes), 0);
  }
  const auto length = load_le<std::uint64_t>(bytes.data());
  if (length > bytes.size() - kLengthBytes) {
    return defect(
        fmt::format("header length is {}, but only {} bytes follow", length, bytes.size() - kLengthBytes), 0);
  }
  if (length > kMaxSafetensorsHeader) {
    return Error{
        .status = Status::limit,
        .message = fmt::format("header length is {}, at most {} are allowed", length, kMaxSafetensorsHeader),
        .offset = 0};
  }
  const std::string_view header = as_text(bytes.subspan(kLengthBytes, length));
  if (header.empty()) return defect("header length is 0, must be at least 2", 0);
  if (header[0] != '{') return defect("header does not start with {", kLengthBytes);
  return header;
}

void read_metadata(const json& value, SafetensorsFile& file, Defects& defects) {
  if (!value.is_object()) {
    return defects.add(
        tensor_defect(kMetadata, fmt::format("metadata is {}, must be an object", show_json(value))));
  }
  for (const auto& [key, text] : value.items()) {
    if (defects.enough()) return;
    if (!text.is_string()) {
      defects.add(tensor_defect(
          kMetadata, fmt::format("metadata {} is {}, must be a string", show_name(key), show_json(text))));
      continue;
    }
    file.metadata.emplace_back(key, text.get_ref<const std::string&>());
  }
}

Result<std::vector<std::uint64_t>> read_shape(const std::string& name, const json& entry) {
  const auto shape = entry.find("shape");
  if (shape == entry.end()) return tensor_defect(name, "shape is missing");
  if (!shape->is_array())
    return tensor_defect(name, fmt::format("shape is {}, must be a list", show_json(*shape)));
  if (shape->size() > kMaxDims) {
    return tensor_defect(
        name, fmt::format("shape has {} dimensions, must have at most {}", shape->size(), kMaxDims));
  }
  std::vector<std::uint64_t> dims;
  for (const json& dim : *shape) {
    if (!is_count(dim)) {
      return tensor_defect(name,
                           fmt::format("shape holds {}, must hold integers of 0 or more", show_json(dim)));
    }
    dims.push_back(dim.get<std::uint64_t>());
  }
  return dims;
}

// Bytes that dtype and shape imply.
Result<std::uint64_t> expected_bytes(const std::string& name, const SafetensorsDtype& dtype,
                                     const std::vector<std::uint64_t>& shape) {
  Checked bits = dtype.bits;
  for (const std::uint64_t dim : shape) {
    if (dim == 0) return std::uint64_t{0};  // however large the others are
    bits = bits * dim;
  }
  if (bits.overflowed()) {
    return tensor_defect(
        name, fmt::format("shape [{}] of {} overflows 64 bits", fmt::join(shape, ", "), dtype.name));
  }
  if (*bits.get() % 8 != 0) {
    return tensor_defect(name, fmt::format("{} bits of {} do not fill whole bytes", *bits.get(), dtype.name));
  }
  return *bits.get() / 8;
}

Result<SafetensorsTensor> read_tensor(const std::string& name, const json& entry,
                                      std::span<const std::byte> body, std::uint64_t body_offset) {
  if (!entry.is_object())
    return tensor_defect(name, fmt::format("entry is {}, must be an object", show_json(entry)));
  const auto dtype_name = entry.find("dtype");
  if (dtype_name == entry.end()) return tensor_defect(name, "dtype is missing");
  if (!dtype_name->is_string()) {
    return tensor_defect(name, fmt::format("dtype is {}, must be a string", show_json(*dtype_name)));
  }
  const SafetensorsDtype* dtype = find_safetensors_dtype(dtype_name->get_ref<const std::string&>());
  if (dtype == nullptr)
    return tensor_defect(name, fmt::format("dtype {} is unknown", show_json(*dtype_name)));
  ML_TRY(std::vector<std::uint64_t> shape, read_shape(name, entry));

  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end()) return tensor_defect(name, "data_offsets is missing");
  if (!offsets->is_array() || offsets->size() != 2 || !is_count((*offsets)[0]) || !is_count((*offsets)[1])) {
    return tensor_defect(name, "data_offsets must be two integers of 0 or more");
  }
  const auto begin = (*offsets)[0].get<std::uint64_t>();
  const auto end = (*offsets)[1].get<std::uint64_t>();
  if (begin > end) return tensor_defect(name, fmt::format("data_offsets [{}, {}] run backwards", begin, end));
  ML_TRY(const std::uint64_t expected, expected_bytes(name, *dtype, shape));
  if (end - begin != expected) {
    return tensor_defect(name, fmt::format("data_offsets [{}, {}] hold {} bytes, {} [{}] needs {}", begin,
                                           end, end - begin, dtype->name, fmt::join(shape, ", "), expected));
  }
  if (end > body.size()) {
    return tensor_defect(name, fmt::format("file is {} bytes, the tensor needs {}", body_offset + body.size(),
                                           sum_text(body_offset, end)));
  }
  return SafetensorsTensor{name, dtype, std::move(shape), body_offset + begin,
                           body.subspan(begin, end - begin)};
}

// Sorts tensors by their data and checks that they tile the body. Those that overlap one before them are
// taken out: a small file could name the same bytes very often.
void check_tiling(std::vector<SafetensorsTensor>& tensors, std::span<const std::byte> body,
                  std::uint64_t body_offset, bool complete, Defects& defects) {
  std::sort(tensors.begin(), tensors.end(), [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
    return std::pair(a.offset, a.offset + a.data.size()) < std::pair(b.offset, b.offset + b.data.size());
  });
  std::uint64_t covered = body_offset;
  const SafetensorsTensor* last = nullptr;
  std::vector<std::size_t> apart;
  apart.reserve(tensors.size());
  for (const SafetensorsTensor& tensor : tensors) {
    if (defects.enough()) return;
    if (tensor.offset >= covered) apart.push_back(static_cast<std::size_t>(&tensor - tensors.data()));
    if (tensor.offset < covered) {
      defects.add(tensor_defect(tensor.name, fmt::format("data overlaps that of {}", show_name(last->name))));
    } else if (tensor.offset > covered && complete) {  // a refused entry may be what lies in a hole
      defects.add(defect(fmt::format("{} bytes before {} belong to no tensor", tensor.offset - covered,
                                     show_name(tensor.name)),
                         covered));
    }
    if (const std::uint64_t end = tensor.offset + tensor.data.size(); end >= covered) {
      covered = end;
      last = &tensor;
    }
  }
  if (const std::uint64_t end = body_offset + body.size(); covered < end && complete) {
    defects.add(defect(fmt::format("{} bytes after the last tensor belong to none", end - covered), covered));
  }
  for (std::size_t i = 0; i < apart.size(); ++i) {
    if (apart[i] != i) tensors[i] = std::move(tensors[apart[i]]);
  }
  tensors.resize(apart.size());
}

SafetensorsFile scan(std::span<const std::byte> bytes, Defects& defects) {
  SafetensorsFile file;
  auto header = find_header(bytes);
  if (!header) {
    defects.add(std::move(header.error()));
    return file;
  }
  auto parsed = parse_json(*header);
  if (!parsed) {
    Error error = std::move(parsed.error());
    error.message = "header: " + error.message;
    error.offset = kLengthBytes + error.offset.value_or(0);
    defects.add(std::move(error));
    return file;
  }
  file.header_bytes = header->size();
  const std::uint64_t body_offset = kLengthBytes + header->size();
  const std::span<const std::byte> body = bytes.subspan(body_offset);
  bool complete = true;
  for (const auto& [name, entry] : parsed->items()) {
    if (defects.enough()) return file;
    if (name == kMetadata) {
      read_metadata(entry, file, defects);
    } else if (auto tensor = read_tensor(name, entry, body, body_offset); tensor) {
      file.tensors.push_back(std::move(*tensor));
    } else {
      complete = false;
      defects.add(std::move(tensor.error()));
    }
  }
  if (!defects.enough()) check_tiling(file.tensors, body, body_offset, complete, defects);
  return file;
}

}  // namespace

std::span<const SafetensorsDtype> safetensors_dtypes() { return kDtypes; }

const SafetensorsDtype* find_safetensors_dtype(std::string_view name) {
  const auto found =
      std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& dtype) { return dtype.name == name; });
  return found == kDtypes.end() ? nullptr : &*found;
}

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() <= kLengthBytes || bytes[kLengthBytes] != std::byte{'{'}) return false;
  const auto length = load_le<std::uint64_t>(bytes.data());
  return length >= 2 && length <= kMaxSafetensorsHeader;
}

Result<SafetensorsFile> read_safetensors(std::span<const std::byte> bytes) {
  Defects defects(false);
  SafetensorsFile file = scan(bytes, defects);
  if (defects.enough()) return std::move(defects.take().front());
  return file;
}

std::vector<Error> check_safetensors(std::span<const std::byte> bytes, SafetensorsFile* file) {
  Defects defects(true);
  SafetensorsFile found = scan(bytes, defects);
  if (file != nullptr) *file = std::move(found);
  return defects.take();
}

Result<std::vector<std::byte>> write_safetensors(
    std::span<const SafetensorsSource> tensors,
    std::span<const std::pair<std::string, std::string>> metadata) {
  const auto bad = [](const SafetensorsSource& source, std::string message) {
    return Error{.status = Status::arg, .message = std::move(message), .tensor = show_name(source.name)};
  };
  json header = json::object();
  for (const auto& [key, text] : metadata) header[std::string(kMetadata)][key] = text;
  std::uint64_t end = 0;
  for (const SafetensorsSource& source : tensors) {
    const SafetensorsDtype* dtype = find_safetensors_dtype(source.dtype);
    if (dtype == nullptr) return bad(source, fmt::format("dtype {} is unknown", source.dtype));
    ML_TRY(const std::uint64_t expected, expected_bytes(source.name, *dtype, source.shape));
    if (expected != source.data.size()) {
      return bad(source, fmt::format("data is {} bytes, its shape needs {}", source.data.size(), expected));
    }
    if (source.name == kMetadata || header.contains(source.name)) return bad(source, "name is taken");
    header[source.name] = {
        {"dtype", source.dtype}, {"shape", source.shape}, {"data_offsets", {end, end + expected}}};
    end += expected;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    return Error{.status = Status::arg, .message = "a name or metadata text is not UTF-8"};
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');

  std::vector<std::byte> out(kLengthBytes + text.size());
  store_le<std::uint64_t>(out.data(), text.size());
  std::memcpy(out.data() + kLengthBytes, text.data(), text.size());
  std::size_t position = out.size();
  out.resize(position + end);
  for (const SafetensorsSource& source : tensors) {
    if (!source.data.empty()) std::memcpy(out.data() + position, source.data.data(), source.data.size());
    position += source.data.size();
  }
  return out;
}

}  // namespace ml
