#include "formats/mlb.hpp"
#include "formats/mlb_layout.hpp"
#include "formats/mlb_scan.hpp"

#include "util/bytes.hpp"
#include "util/checked.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ml {

namespace {

Error too_short(std::uint64_t size, std::string_view what, std::uint64_t needed) {
  return {.status = Status::format,
          .message = fmt::format("file is {} bytes, {} needs {}", size, what, needed),
          .offset = size};
}

struct RawHeader {
  MlbHeader header;
  std::vector<Error> defects;
};

RawHeader load_header(std::span<const std::byte> bytes) {
  RawHeader raw;
  if (bytes.empty()) {
    raw.defects.push_back({.status = Status::format, .message = "file is empty", .offset = 0});
    return raw;
  }
  raw.header = load_mlb_header(bytes);
  if (bytes.size() < kMlbHeaderBytes) {
    raw.defects.push_back(too_short(bytes.size(), "the header", kMlbHeaderBytes));
    return raw;
  }
  raw.defects = mlb_header_defects(raw.header);
  return raw;
}

}  // namespace

std::vector<Error> mlb_layer_defects(const MlbHeader& header, std::span<const std::uint8_t> flags) {
  std::vector<Error> defects;
  bool any_linear = false;
  const bool linear_fields = header.lin_k_heads != 0;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::uint8_t bits = flags[i];
    const auto defect = [&](std::string_view rule) {
      defects.push_back({.status = Status::format,
                         .message = fmt::format("flags of layer {} are {}, {}", i, bits, rule),
                         .offset = kMlbHeaderBytes + i});
    };
    any_linear = any_linear || (bits & 8) != 0;
    if ((bits & ~15) != 0) {
      defect("must not have bits beyond 15");
    } else if ((bits & 8) != 0 && bits != 8) {
      defect("must have bit 3 (linear attention) alone");
    } else if ((bits & 8) != 0 && !linear_fields) {
      defect("must not have bit 3 (linear attention) where the lin_ fields are 0");
    } else if ((bits & 2) != 0 && (bits & 4) != 0) {
      defect("must not have both bit 1 (local RoPE base) and bit 2 (no RoPE)");
    } else if ((bits & 2) != 0 && header.rope_local_theta == 0) {
      defect("must not have bit 1 (local RoPE base) where rope_local_theta is 0");
    }
  }
  if (linear_fields && !any_linear) {
    defects.push_back({.status = Status::format,
                       .message = fmt::format("lin_k_heads is {}, must be 0 where no layer has flag bit 3",
                                              header.lin_k_heads),
                       .offset = offsetof(MlbHeader, lin_k_heads)});
  }
  return defects;
}

Result<MlbHeader> read_mlb_header(std::span<const std::byte> bytes) {
  RawHeader raw = load_header(bytes);
  if (!raw.defects.empty()) return std::move(raw.defects.front());
  return raw.header;
}

MlbDirectory read_mlb_directory(std::span<const std::byte> bytes) {
  MlbDirectory result;
  RawHeader raw = load_header(bytes);
  result.defects = std::move(raw.defects);
  if (!result.defects.empty()) return result;
  MlbFile& file = result.file;
  file.header = raw.header;
  if (file.header.layer_flags != 0) {
    const std::uint64_t end = kMlbHeaderBytes + file.header.n_layers;
    if (bytes.size() < end) {
      result.defects.push_back(too_short(bytes.size(), "the array of layer flags", end));
      return result;
    }
    for (const std::byte b : bytes.subspan(kMlbHeaderBytes, file.header.n_layers)) {
      file.layer_flags.push_back(std::to_integer<std::uint8_t>(b));
    }
  }
  result.defects = mlb_layer_defects(file.header, file.layer_flags);
  if (!result.defects.empty()) return result;
  file.desc = mlb_desc(file.header, file.layer_flags);
  auto error = lay_out_mlb(file.desc, mlb_storage(file.header), file.header.layer_flags != 0, bytes.size(),
                           file.arrays);
  if (error) {
    result.defects.push_back(*std::move(error));
    return result;
  }
  file.n_bytes = file.arrays.back().end();
  const std::uint64_t padded = *Checked(file.n_bytes).round_up(kMlbAlignment).get();
  if (bytes.size() > padded) {
    result.defects.push_back({.status = Status::format,
                              .message = fmt::format("file is {} bytes, must end at {} (after tensor {})",
                                                     bytes.size(), padded, file.arrays.back().name()),
                              .offset = padded});
  }
  return result;
}

std::optional<std::uint64_t> mlb_file_bytes(std::span<const std::byte> start) {
  const RawHeader raw = load_header(start);
  if (!raw.defects.empty()) return {};
  const std::uint64_t n_flags = raw.header.layer_flags != 0 ? raw.header.n_layers : 0;
  if (start.size() < kMlbHeaderBytes + n_flags) return {};
  std::vector<std::uint8_t> flags;
  for (const std::byte b : start.subspan(kMlbHeaderBytes, n_flags))
    flags.push_back(std::to_integer<std::uint8_t>(b));
  if (!mlb_layer_defects(raw.header, flags).empty()) return {};
  std::vector<MlbArray> arrays;
  const auto error =
      lay_out_mlb(mlb_desc(raw.header, flags), mlb_storage(raw.header), n_flags != 0, std::nullopt, arrays);
  if (error || arrays.empty()) return {};
  return Checked(arrays.back().end()).round_up(kMlbAlignment).get();
}

Result<MlbFile> read_mlb(std::span<const std::byte> bytes) {
  MlbDirectory directory = read_mlb_directory(bytes);
  if (!directory.defects.empty()) return std::move(directory.defects.front());
  return std::move(directory.file);
}

Result<Model> open_mlb(std::shared_ptr<const InputBytes> input, const OpenOptions& options) {
  const std::span<const std::byte> bytes = input->data();
  ML_TRY(const MlbFile file, read_mlb(bytes));
  if (!options.trust) {
    if (auto defect = find_mlb_quant_defect(bytes, file)) return *std::move(defect);
  }
  std::vector<Tensor> tensors;
  tensors.reserve(file.arrays.size());
  for (const MlbArray& array : file.arrays) {
    tensors.push_back(
        {.role = array.role, .layer = array.layer, .name = array.name(), .view = array_view(bytes, array)});
  }
  std::vector<Model::Storage> storage;
  storage.push_back(std::move(input));
  return Model::assemble(file.desc, std::move(tensors), std::move(storage));
}

}  // namespace ml
