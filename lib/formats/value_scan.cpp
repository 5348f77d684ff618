#include "formats/value_scan.hpp"

#include <ml/target.hpp>

#include "encodings/int_group.hpp"
#include "util/bytes.hpp"
#include "util/thread_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

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

Tally find_non_finite_bf16(std::span<const std::byte> bytes) {
  return tally<std::uint16_t>(bytes, [](std::uint16_t word) { return (word & 0x7f80u) == 0x7f80u; });
}

Tally find_non_zero(std::span<const std::byte> bytes) {
  return tally<std::uint8_t>(bytes, [](std::uint8_t word) { return word != 0; });
}

Tally tally_stretch(std::span<const std::byte> bytes, ValueRule rule) {
  switch (rule) {
    case ValueRule::quants: return find_minus_128(bytes);
    case ValueRule::f16_scales:
    case ValueRule::f16_values: return find_non_finite_f16(bytes);
    case ValueRule::bf16_values: return find_non_finite_bf16(bytes);
    case ValueRule::f32_scales:
    case ValueRule::f32_values: return find_non_finite_f32(bytes);
    case ValueRule::padding: return find_non_zero(bytes);
  }
  return {};
}

std::uint64_t unit_of(ValueRule rule) {
  switch (rule) {
    case ValueRule::quants:
    case ValueRule::padding: return 1;
    case ValueRule::f16_scales:
    case ValueRule::f16_values:
    case ValueRule::bf16_values: return 2;
    case ValueRule::f32_scales:
    case ValueRule::f32_values: return 4;
  }
  return 1;
}

std::string value_at(std::span<const std::byte> bytes, ValueRule rule, std::uint64_t offset) {
  const std::byte* at = bytes.data() + offset;
  switch (rule) {
    case ValueRule::quants: return "-128";
    case ValueRule::padding: return fmt::format("{}", std::to_integer<int>(*at));
    case ValueRule::f16_scales:
    case ValueRule::f16_values: return (load_le<std::uint16_t>(at) & 0x3ffu) != 0 ? "NaN" : "infinite";
    case ValueRule::bf16_values: return (load_le<std::uint16_t>(at) & 0x7fu) != 0 ? "NaN" : "infinite";
    case ValueRule::f32_scales:
    case ValueRule::f32_values: return (load_le<std::uint32_t>(at) & 0x7fffffu) != 0 ? "NaN" : "infinite";
  }
  return {};
}

Error defect_at(std::span<const std::byte> bytes, const Stretch& stretch, const Tally& found) {
  const std::uint64_t offset = stretch.offset + found.first * unit_of(stretch.rule);
  const std::string value = value_at(bytes, stretch.rule, offset);
  std::string message;
  const auto where = [](const WeightPlace& place) {
    return fmt::format("row {}, column {}", place.row, place.col);
  };
  switch (stretch.rule) {
    case ValueRule::quants:
      message = fmt::format("quant of {} is -128, must be -127 to 127",
                            where(place_of_quant(stretch.view, found.first)));
      break;
    case ValueRule::f32_scales:
    case ValueRule::f16_scales:
      message = fmt::format("scale of {} is {}, must be finite",
                            where(place_of_scale(stretch.view, found.first)), value);
      break;
    case ValueRule::f32_values:
    case ValueRule::f16_values:
    case ValueRule::bf16_values:
      message = fmt::format("value of {} is {}, must be finite",
                            where({found.first / stretch.view.cols, found.first % stretch.view.cols}), value);
      break;
    case ValueRule::padding: message = fmt::format("padding byte is {}, must be 0", value); break;
  }
  if (found.count > 1) message += fmt::format(" (the first of {})", found.count);
  return {.status = Status::format, .message = std::move(message), .offset = offset, .tensor = stretch.name};
}

// Pieces of stretches, small enough to share between threads; results are joined in file order.
std::vector<Tally> tally_all(std::span<const std::byte> bytes, std::span<const Stretch> stretches,
                             unsigned threads, const ReadProgress& progress) {
  constexpr std::uint64_t kPiece = std::uint64_t(1) << 20;  // a multiple of kStride and of every unit
  struct Piece {
    std::size_t stretch;
    std::uint64_t begin;
    std::uint64_t n_bytes;
  };
  std::vector<Piece> pieces;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    total += stretches[i].n_bytes;
    for (std::uint64_t begin = 0; begin < stretches[i].n_bytes; begin += kPiece) {
      pieces.push_back({i, begin, std::min(kPiece, stretches[i].n_bytes - begin)});
    }
  }
  std::vector<Tally> found(pieces.size());
  const unsigned useful =
      static_cast<unsigned>(std::min<std::uint64_t>(threads, bytes.size() / (4 * kPiece) + 1));
  std::mutex mutex;
  std::uint64_t done = 0;
  ThreadPool pool(useful);
  pool.run(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const Stretch& stretch = stretches[pieces[i].stretch];
      found[i] =
          tally_stretch(bytes.subspan(stretch.offset + pieces[i].begin, pieces[i].n_bytes), stretch.rule);
      if (!progress) continue;
      const std::lock_guard lock(mutex);
      progress(done += pieces[i].n_bytes, total);
    }
  });
  std::vector<Tally> result(stretches.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (found[i].count == 0) continue;
    Tally& all = result[pieces[i].stretch];
    all.first =
        std::min(all.first, pieces[i].begin / unit_of(stretches[pieces[i].stretch].rule) + found[i].first);
    all.count += found[i].count;
  }
  return result;
}

}  // namespace

std::vector<Error> find_value_defects(std::span<const std::byte> bytes, std::span<const Stretch> stretches,
                                      unsigned threads, const ReadProgress& progress) {
  const std::vector<Tally> found =
      tally_all(bytes, stretches, threads != 0 ? threads : available_threads(), progress);
  std::vector<Error> defects;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (found[i].count != 0) defects.push_back(defect_at(bytes, stretches[i], found[i]));
  }
  return defects;
}

void add_value_stretches(const TensorView& view, std::uint64_t offset, std::uint64_t scale_offset,
                         const std::string& name, std::vector<Stretch>& stretches) {
  const auto add = [&](ValueRule rule, std::uint64_t at, std::uint64_t n_bytes) {
    stretches.push_back({rule, at, n_bytes, view, name});
  };
  if (view.encoding == Encoding::f32) add(ValueRule::f32_values, offset, view.data.size());
  if (view.encoding == Encoding::f16) add(ValueRule::f16_values, offset, view.data.size());
  if (view.encoding == Encoding::bf16) add(ValueRule::bf16_values, offset, view.data.size());
  if (const auto layout = int_group(view.encoding); layout && layout->bits == 8) {
    add(ValueRule::quants, offset, view.data.size());
  }
  if (!view.scales.empty()) {
    add(view.scale_type == ScaleType::f16 ? ValueRule::f16_scales : ValueRule::f32_scales, scale_offset,
        view.scales.size());
  }
}

void add_padding_stretch(std::uint64_t begin, std::uint64_t end, const std::string& name,
                         std::vector<Stretch>& stretches) {
  if (end > begin) stretches.push_back({ValueRule::padding, begin, end - begin, {}, name});
}

}  // namespace ml
