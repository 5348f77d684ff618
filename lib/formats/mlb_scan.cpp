#include "formats/mlb_scan.hpp"

#include <ml/target.hpp>

#include "util/bytes.hpp"
#include "util/thread_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ml {

namespace {

// Finds, counting from 0, the first unit of a span that is bad, and how many are.
struct Tally {
  std::uint64_t first = UINT64_MAX;
  std::uint64_t count = 0;
};

// The inner loops hold no branch and stay in lanes as wide as a word, so that they run at the speed of
// memory.
constexpr std::size_t kStride = 4096;

template <class Word, class IsBad>
Tally tally(std::span<const std::byte> bytes, IsBad is_bad) {
  Tally result;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kStride) {
    const std::size_t n = std::min(kStride, bytes.size() - begin) / sizeof(Word);
    const std::byte* at = bytes.data() + begin;
    Word any = 0;
    for (std::size_t i = 0; i < n; ++i) {
      any = static_cast<Word>(any | static_cast<Word>(is_bad(load_le<Word>(at + i * sizeof(Word)))));
    }
    if (any == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_bad(load_le<Word>(at + i * sizeof(Word)))) continue;
      result.first = std::min<std::uint64_t>(result.first, begin / sizeof(Word) + i);
      ++result.count;
    }
  }
  return result;
}

Tally find_minus_128(std::span<const std::byte> bytes) {
  return tally<std::uint8_t>(bytes, [](std::uint8_t word) { return word == 0x80; });
}

Tally find_non_finite_f32(std::span<const std::byte> bytes) {
  return tally<std::uint32_t>(bytes, [](std::uint32_t word) { return (word & 0x7f800000u) == 0x7f800000u; });
}

Tally find_non_finite_f16(std::span<const std::byte> bytes) {
  return tally<std::uint16_t>(bytes, [](std::uint16_t word) { return (word & 0x7c00u) == 0x7c00u; });
}

Tally find_non_zero(std::span<const std::byte> bytes) {
  return tally<std::uint8_t>(bytes, [](std::uint8_t word) { return word != 0; });
}

// One stretch of the file and what must hold there.
enum class Rule : std::uint8_t { quants, f32_scales, f16_scales, f32_values, padding };
struct Stretch {
  Rule rule;
  std::uint64_t offset;
  std::uint64_t n_bytes;
  const MlbArray* array;  // null: the layer flags
};

Tally tally_stretch(std::span<const std::byte> bytes, Rule rule) {
  switch (rule) {
    case Rule::quants: return find_minus_128(bytes);
    case Rule::f16_scales: return find_non_finite_f16(bytes);
    case Rule::f32_scales:
    case Rule::f32_values: return find_non_finite_f32(bytes);
    case Rule::padding: return find_non_zero(bytes);
  }
  return {};
}

std::uint64_t unit_of(Rule rule) {
  switch (rule) {
    case Rule::quants:
    case Rule::padding: return 1;
    case Rule::f16_scales: return 2;
    case Rule::f32_scales:
    case Rule::f32_values: return 4;
  }
  return 1;
}

std::string value_at(std::span<const std::byte> bytes, Rule rule, std::uint64_t offset) {
  const std::byte* at = bytes.data() + offset;
  switch (rule) {
    case Rule::quants: return "-128";
    case Rule::padding: return fmt::format("{}", std::to_integer<int>(*at));
    case Rule::f16_scales: return (load_le<std::uint16_t>(at) & 0x3ffu) != 0 ? "NaN" : "infinite";
    case Rule::f32_scales:
    case Rule::f32_values: return (load_le<std::uint32_t>(at) & 0x7fffffu) != 0 ? "NaN" : "infinite";
  }
  return {};
}

Error defect_at(std::span<const std::byte> bytes, const Stretch& stretch, const Tally& found) {
  const std::uint64_t offset = stretch.offset + found.first * unit_of(stretch.rule);
  const std::string value = value_at(bytes, stretch.rule, offset);
  std::string message;
  const auto where = [&](std::uint64_t weights_a_unit) {
    const std::uint64_t index = found.first * weights_a_unit;
    return fmt::format("row {}, column {}", index / stretch.array->cols, index % stretch.array->cols);
  };
  switch (stretch.rule) {
    case Rule::quants: message = fmt::format("quant of {} is -128, must be -127 to 127", where(1)); break;
    case Rule::f32_scales:
    case Rule::f16_scales:
      message = fmt::format("scale of {} is {}, must be finite", where(kBlock), value);
      break;
    case Rule::f32_values: message = fmt::format("value of {} is {}, must be finite", where(1), value); break;
    case Rule::padding: message = fmt::format("padding byte is {}, must be 0", value); break;
  }
  if (found.count > 1) message += fmt::format(" (the first of {})", found.count);
  return {.status = Status::format,
          .message = std::move(message),
          .offset = offset,
          .tensor = stretch.array != nullptr ? stretch.array->name() : "layer flags"};
}

// Pieces of stretches, small enough to share between threads; results are joined in file order.
std::vector<Tally> tally_all(std::span<const std::byte> bytes, std::span<const Stretch> stretches,
                             unsigned threads) {
  constexpr std::uint64_t kPiece = std::uint64_t(1) << 20;  // a multiple of kStride and of every unit
  struct Piece {
    std::size_t stretch;
    std::uint64_t begin;
    std::uint64_t n_bytes;
  };
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    for (std::uint64_t begin = 0; begin < stretches[i].n_bytes; begin += kPiece) {
      pieces.push_back({i, begin, std::min(kPiece, stretches[i].n_bytes - begin)});
    }
  }
  std::vector<Tally> found(pieces.size());
  const unsigned useful =
      static_cast<unsigned>(std::min<std::uint64_t>(threads, bytes.size() / (4 * kPiece) + 1));
  ThreadPool pool(useful);
  pool.run(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const Stretch& stretch = stretches[pieces[i].stretch];
      found[i] =
          tally_stretch(bytes.subspan(stretch.offset + pieces[i].begin, pieces[i].n_bytes), stretch.rule);
    }
  });
  std::vector<Tally> result(stretches.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (found[i].count == 0) continue;
    Tally& total = result[pieces[i].stretch];
    total.first =
        std::min(total.first, pieces[i].begin / unit_of(stretches[pieces[i].stretch].rule) + found[i].first);
    total.count += found[i].count;
  }
  return result;
}

unsigned resolve_threads(unsigned threads) { return threads != 0 ? threads : available_threads(); }

void add_padding(std::vector<Stretch>& stretches, std::uint64_t end, std::uint64_t file_size,
                 const MlbArray* array) {
  const std::uint64_t padded = (end + kMlbAlignment - 1) / kMlbAlignment * kMlbAlignment;
  const std::uint64_t stop = std::min(padded, file_size);
  if (stop > end) stretches.push_back({Rule::padding, end, stop - end, array});
}

}  // namespace

std::optional<Error> find_mlb_quant_defect(std::span<const std::byte> bytes, const MlbFile& file) {
  std::vector<Stretch> stretches;
  for (const MlbArray& array : file.arrays) {
    if (array.encoding == Encoding::q8_0)
      stretches.push_back({Rule::quants, array.offset, array.n_bytes, &array});
  }
  const std::vector<Tally> found = tally_all(bytes, stretches, resolve_threads(0));
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (found[i].count != 0) return defect_at(bytes, stretches[i], found[i]);
  }
  return std::nullopt;
}

std::vector<Error> check_mlb(std::span<const std::byte> bytes, unsigned threads) {
  MlbDirectory directory = read_mlb_directory(bytes);
  const MlbFile& file = directory.file;
  std::vector<Error> defects;
  std::vector<Stretch> stretches;
  if (!file.layer_flags.empty() && !file.arrays.empty()) {
    add_padding(stretches, kMlbHeaderBytes + file.layer_flags.size(), bytes.size(), nullptr);
  }
  for (const MlbArray& array : file.arrays) {
    if (array.encoding == Encoding::f32) {
      stretches.push_back({Rule::f32_values, array.offset, array.n_bytes, &array});
    } else if (array.encoding == Encoding::q8_0) {
      stretches.push_back({Rule::quants, array.offset, array.n_bytes, &array});
    }
    add_padding(stretches, array.offset + array.n_bytes, bytes.size(), &array);
    if (array.n_scale_bytes == 0) continue;
    const Rule rule = array.scale_type == ScaleType::f16 ? Rule::f16_scales : Rule::f32_scales;
    stretches.push_back({rule, array.scale_offset, array.n_scale_bytes, &array});
    add_padding(stretches, array.end(), bytes.size(), &array);
  }
  const std::vector<Tally> found = tally_all(bytes, stretches, resolve_threads(threads));
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (found[i].count != 0) defects.push_back(defect_at(bytes, stretches[i], found[i]));
  }
  for (Error& defect : directory.defects) defects.push_back(std::move(defect));
  return defects;
}

}  // namespace ml
