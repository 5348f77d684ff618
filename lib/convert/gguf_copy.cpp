#include "convert/gguf_copy.hpp"

#include <ml/target.hpp>

#include "util/aligned_buffer.hpp"
#include "util/bytes.hpp"
#include "util/exact_math.hpp"
#include "util/show_name.hpp"
#include "util/thread_pool.hpp"
#include "util/try.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

namespace ml {

namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kPieceBytes = 1u << 20;  // of the file, for one thread at a time
constexpr std::uint64_t kWorthThreads = 4u << 20;

bool stays(const GgufTake& take) {
  return take.decode == nullptr && !encoding_info(take.encoding).quantized && take.order.empty() &&
         take.col_order.empty() && !take.negative_exp;
}

std::uint64_t file_row_bytes(const GgufTake& take) {
  const GgufTensorType& type = *take.tensor->type;
  return take.tensor->cols() / type.block_weights * type.block_bytes;
}

TensorView view_in_place(const GgufTake& take) {
  TensorView view{.encoding = take.encoding, .rows = take.rows, .cols = take.cols};
  const std::uint64_t skipped =
      take.vector ? take.first_row * take.tensor->type->block_bytes : take.first_row * view.row_bytes();
  view.data = take.tensor->data.subspan(skipped, take.rows * view.row_bytes());
  return view;
}

// Where the copy of a tensor goes.
struct Copy {
  const GgufTake* take = nullptr;
  TensorView view = {};  // of the copy; spans into the buffer
  std::byte* data = nullptr;
  std::byte* scales = nullptr;
};

// Rows [begin, end) of a copy.
struct Piece {
  const Copy* copy = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Error tensor_error(const GgufTake& take, std::string message) {
  return {.status = Status::format,
          .message = std::move(message),
          .path = *take.path,
          .tensor = show_name(take.tensor->name)};
}

Error minus_128(const GgufTake& take, std::uint64_t row, std::uint64_t block) {
  return tensor_error(take, fmt::format("row {}, block {} holds a quant of -128", row, block));
}

// A vector with its elements moved, as float32.
std::optional<Error> copy_vector(const Copy& copy) {
  const GgufTake& take = *copy.take;
  const TensorView whole{
      .encoding = take.encoding, .rows = 1, .cols = take.tensor->cols(), .data = take.tensor->data};
  std::vector<float> values(whole.cols);
  decode_row(whole, 0, values);
  for (std::uint64_t i = 0; i < take.cols; ++i) {
    float value = values[take.order.empty() ? take.first_row + i : take.order[i]];
    if (take.negative_exp) {
      if (!(value < 0) || !std::isnormal(value)) {
        return tensor_error(take, fmt::format("element {} is {}, must be -exp(A_log), below 0", i, value));
      }
      value = static_cast<float>(exact_log(-static_cast<double>(value)));
    }
    store_le(copy.data + i * sizeof value, value);
  }
  return std::nullopt;
}

// Consecutive weights of one file row, in whole blocks, to their place in the copy.
std::optional<std::uint64_t> copy_run(const Copy& copy, const std::byte* from, std::uint64_t to,
                                      std::uint64_t n) {
  const GgufTake& take = *copy.take;
  const std::uint64_t n_blocks = n / take.tensor->type->block_weights;
  if (take.decode != nullptr) {
    float* const floats = reinterpret_cast<float*>(copy.data) + to;
    take.decode(from, n_blocks, floats);
    order_le(floats, sizeof *floats, n);
    return std::nullopt;
  }
  if (take.encoding == Encoding::q8_0)
    return split_ggml_q8_0(from, n_blocks, copy.data + to, copy.scales + to / kBlock * 2);
  if (take.encoding == Encoding::q4_0) {
    split_ggml_q4_0(from, n_blocks, copy.data + to / 2, copy.scales + to / kBlock * 2);
    return std::nullopt;
  }
  const std::uint64_t size = take.tensor->type->block_bytes;
  std::memcpy(copy.data + to * size, from, n * size);
  return std::nullopt;
}

// The file's row `source` as float32 with its groups of columns moved: a block may hold parts of several
// groups.
void copy_decoded_groups(const Copy& copy, const std::byte* source, std::uint64_t row,
                         std::vector<float>& decoded) {
  const GgufTake& take = *copy.take;
  const std::uint64_t group = take.cols / take.col_order.size();
  decoded.resize(take.cols);
  take.decode(source, take.cols / take.tensor->type->block_weights, decoded.data());
  float* to = reinterpret_cast<float*>(copy.data) + row * take.cols;
  for (const std::uint64_t from : take.col_order) {
    std::copy_n(decoded.data() + from * group, group, to);
    order_le(to, sizeof *to, group);
    to += group;
  }
}

std::optional<Error> copy_rows(const Piece& piece) {
  const Copy& copy = *piece.copy;
  const GgufTake& take = *copy.take;
  const std::uint64_t row_bytes = file_row_bytes(take);
  const std::byte* const data = take.tensor->data.data();
  if (take.order.empty() && take.col_order.empty()) {
    const std::byte* from = data + (take.first_row + piece.begin) * row_bytes;
    const auto bad = copy_run(copy, from, piece.begin * take.cols, (piece.end - piece.begin) * take.cols);
    const std::uint64_t row_blocks = take.cols / take.tensor->type->block_weights;
    if (bad) return minus_128(take, take.first_row + piece.begin + *bad / row_blocks, *bad % row_blocks);
    return std::nullopt;
  }
  const std::uint64_t n_groups = std::max<std::uint64_t>(1, take.col_order.size());
  const std::uint64_t group = take.cols / n_groups;
  const GgufTensorType& type = *take.tensor->type;
  std::vector<float> decoded;
  for (std::uint64_t row = piece.begin; row < piece.end; ++row) {
    const std::uint64_t source = take.order.empty() ? take.first_row + row : take.order[row];
    if (take.decode != nullptr && !take.col_order.empty()) {
      copy_decoded_groups(copy, data + source * row_bytes, row, decoded);
      continue;
    }
    for (std::uint64_t g = 0; g < n_groups; ++g) {
      const std::uint64_t from =
          (take.col_order.empty() ? 0 : take.col_order[g]) * group / type.block_weights;
      const auto bad = copy_run(copy, data + source * row_bytes + from * type.block_bytes,
                                row * take.cols + g * group, group);
      if (bad) return minus_128(take, source, from + *bad);
    }
  }
  return std::nullopt;
}

std::uint64_t aligned(std::uint64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// Shapes and places; no memory yet. @return bytes in all, or nothing after an overflow
std::optional<std::uint64_t> lay_out(std::vector<Copy>& copies) {
  Checked total = 0;
  for (Copy& copy : copies) {
    const GgufTake& take = *copy.take;
    const Encoding encoding = take.vector ? Encoding::f32 : take.encoding;
    const bool quantized = encoding_info(encoding).quantized;
    copy.view = {.encoding = encoding,
                 .scale_type = quantized ? ScaleType::f16 : ScaleType::none,
                 .rows = take.rows,
                 .cols = take.cols};
    const Checked data = Checked(take.rows) * copy.view.row_bytes();
    const Checked scales = Checked(take.rows) * copy.view.row_scale_bytes();
    total = total + data.round_up(kAlignment) + scales.round_up(kAlignment);
    if (total.overflowed()) return std::nullopt;
  }
  return total.get();
}

void place(std::vector<Copy>& copies, std::byte* memory) {
  for (Copy& copy : copies) {
    const std::uint64_t n_data = copy.view.rows * copy.view.row_bytes();
    const std::uint64_t n_scales = copy.view.rows * copy.view.row_scale_bytes();
    copy.data = memory;
    copy.scales = memory + aligned(n_data);
    copy.view.data = {copy.data, n_data};
    if (n_scales != 0) copy.view.scales = {copy.scales, n_scales};
    memory = copy.scales + aligned(n_scales);
  }
}

// The first error in the order of the pieces, whichever thread meets one first.
std::optional<Error> fill(const std::vector<Copy>& copies) {
  std::vector<Piece> pieces;
  std::uint64_t n_bytes = 0;
  for (const Copy& copy : copies) {
    const std::uint64_t row_bytes = std::max<std::uint64_t>(1, file_row_bytes(*copy.take));
    const std::uint64_t step =
        copy.take->vector ? copy.view.rows : std::max<std::uint64_t>(1, kPieceBytes / row_bytes);
    for (std::uint64_t row = 0; row < copy.view.rows; row += step) {
      pieces.push_back({&copy, row, std::min(copy.view.rows, row + step)});
    }
    n_bytes += copy.view.n_bytes();
  }
  std::mutex mutex;
  std::optional<Error> first;
  std::uint64_t first_piece = UINT64_MAX;
  ThreadPool pool(n_bytes < kWorthThreads ? 1 : available_threads());
  pool.run(pieces.size(), 1, [&](std::uint64_t i, std::uint64_t) {
    auto error = pieces[i].copy->take->vector ? copy_vector(*pieces[i].copy) : copy_rows(pieces[i]);
    if (!error) return;
    const std::lock_guard lock(mutex);
    if (i < first_piece) {
      first_piece = i;
      first = std::move(error);
    }
  });
  return first;
}

}  // namespace

Result<MappedTensors> copy_gguf_tensors(std::vector<GgufTake> takes) {
  MappedTensors mapped;
  std::vector<Copy> copies;
  for (const GgufTake& take : takes) {
    if (!stays(take)) copies.push_back({.take = &take});
  }
  const auto n_bytes = lay_out(copies);
  if (!n_bytes) return Error{.status = Status::nomem, .message = "tensors do not fit into 64 bits"};
  ML_TRY(auto buffer, AlignedBuffer<std::byte>::allocate(*n_bytes));
  const auto memory = std::make_shared<AlignedBuffer<std::byte>>(std::move(buffer));
  place(copies, memory->data());
  if (auto error = fill(copies)) return *std::move(error);
  auto copy = copies.begin();
  for (const GgufTake& take : takes) {
    const TensorView view = stays(take) ? view_in_place(take) : (copy++)->view;
    mapped.tensors.push_back({take.role, take.layer, std::string(take.tensor->name), view});
  }
  mapped.storage.push_back(memory);
  return mapped;
}

}  // namespace ml
