#include "quantize/encode_matrix.hpp"

#include "encodings/affine.hpp"
#include "encodings/seed.hpp"
#include "quantize/seed_search.hpp"
#include "util/bytes.hpp"
#include "util/half.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>

namespace ml {

namespace {

// h of columns that no text ever used.
constexpr float kLeastImportance = 1e-12f;

float weight_at(const MatrixSource& source, std::uint64_t index) {
  return bf16_to_f32(load_le<std::uint16_t>(source.bf16.data() + 2 * index));
}

// `n` weights from number `first` on.
void load_weights(const MatrixSource& source, std::uint64_t first, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = weight_at(source, first + i);
}

Result<void> check_finite(const MatrixSource& source) {
  for (std::uint64_t i = 0; i < source.bf16.size() / 2; ++i) {
    const auto bits = load_le<std::uint16_t>(source.bf16.data() + 2 * i);
    if ((bits & 0x7f80u) != 0x7f80u) continue;
    return Error{
        .status = Status::format,
        .message = fmt::format("weight of row {}, column {} is {}, must be finite in BF16", i / source.cols,
                               i % source.cols, (bits & 0x7fu) != 0 ? "NaN" : "infinite")};
  }
  return {};
}

Error too_large(std::uint64_t row, const EncodingInfo& info) {
  return {.status = Status::limit,
          .message = fmt::format("weights of row {} are too large for {}", row, info.name)};
}

Result<EncodedMatrix> encode_groups(Encoding encoding, const MatrixSource& source,
                                    const MatrixEncoder& encoder) {
  const EncodingInfo& info = encoding_info(encoding);
  const std::uint64_t n_rows = source.slices * source.rows;
  const std::uint64_t n_groups = source.cols / info.block_weights;
  EncodedMatrix out;
  out.data.resize(n_rows * n_groups * info.block_bytes);
  out.scales.resize(n_rows * n_groups * info.scale_bytes);
  out.biases.resize(n_rows * n_groups * info.bias_bytes);
  std::atomic<std::uint64_t> bad_row{n_rows};
  encoder.pool.run(n_rows, 16, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<float> row(source.cols);
    for (std::uint64_t r = begin; r < end; ++r) {
      load_weights(source, r * source.cols, row);
      const std::uint64_t group = r * n_groups;
      if (!encode_affine(encoding, row, out.data.data() + group * info.block_bytes,
                         out.scales.data() + group * info.scale_bytes,
                         out.biases.data() + group * info.bias_bytes)) {
        continue;
      }
      std::uint64_t first = bad_row.load();
      while (r < first && !bad_row.compare_exchange_weak(first, r)) {
      }
    }
    if (encoder.advance) encoder.advance((end - begin) * source.cols);
  });
  if (bad_row < n_rows) return too_large(bad_row, info);
  return out;
}

// One slice's search: where its blocks come from and where they go.
class SliceEncoder {
 public:
  SliceEncoder(Encoding encoding, const MatrixSource& source, std::uint64_t slice,
               const MatrixEncoder& encoder, EncodedMatrix& out)
      : n_coefs_(encoding == Encoding::seed4 ? 3 : 4),
        source_(source),
        slice_(slice),
        n_groups_(source.cols / kSeedBlock),
        encoder_(encoder),
        out_(out) {}

  Result<void> run(const EncodingInfo& info) {
    std::vector<float> row(source_.cols);
    SeedBias bias;
    for (std::uint64_t r = 0; r < source_.rows; ++r) {
      load_weights(source_, (slice_ * source_.rows + r) * source_.cols, row);
      if (!bias.add(row)) return too_large(slice_ * source_.rows + r, info);
    }
    bias_ = bias.get();
    store_le(out_.biases.data() + 4 * slice_, bias_);
    fits_.resize(source_.rows * n_groups_);
    source_.importance.empty() ? search_plain() : search_weighted();
    for (std::uint64_t i = 0; i < fits_.size(); ++i) store(i);
    return {};
  }

 private:
  void search_plain() {
    const SeedSearch search(n_coefs_, SeedTables::plain(n_coefs_), encoder_.kernels, bias_);
    encoder_.pool.run(fits_.size(), SeedSearch::kBlocks, [&](std::uint64_t begin, std::uint64_t end) {
      std::array<float, SeedSearch::kBlocks * kSeedBlock> x;
      const auto blocks = std::span(x).first((end - begin) * kSeedBlock);
      load_weights(source_, (slice_ * fits_.size() + begin) * kSeedBlock, blocks);
      search.find(blocks, fits_.data() + begin);
      if (encoder_.advance) encoder_.advance(blocks.size());
    });
  }

  // A column group at a time: its tables serve all rows.
  void search_weighted() {
    encoder_.pool.run(n_groups_, 1, [&](std::uint64_t group, std::uint64_t) {
      std::array<float, kSeedBlock> scales;
      const std::uint64_t of_slice = source_.importance.size() == source_.cols ? 0 : slice_ * source_.cols;
      for (std::uint32_t c = 0; c < kSeedBlock; ++c) {
        scales[c] =
            std::sqrt(std::max(source_.importance[of_slice + group * kSeedBlock + c], kLeastImportance));
      }
      const SeedTables tables(n_coefs_, scales);
      const SeedSearch search(n_coefs_, tables, encoder_.kernels, bias_);
      std::array<float, SeedSearch::kBlocks * kSeedBlock> x;
      std::array<SeedBlockFit, SeedSearch::kBlocks> found;
      for (std::uint64_t first = 0; first < source_.rows; first += SeedSearch::kBlocks) {
        const std::uint64_t n = std::min<std::uint64_t>(SeedSearch::kBlocks, source_.rows - first);
        for (std::uint64_t i = 0; i < n; ++i) {
          const std::uint64_t row = slice_ * source_.rows + first + i;
          for (std::uint32_t c = 0; c < kSeedBlock; ++c) {
            x[i * kSeedBlock + c] =
                weight_at(source_, row * source_.cols + group * kSeedBlock + c) * scales[c];
          }
        }
        search.find(std::span(x).first(n * kSeedBlock), found.data());
        for (std::uint64_t i = 0; i < n; ++i) fits_[(first + i) * n_groups_ + group] = found[i];
        if (encoder_.advance) encoder_.advance(n * kSeedBlock);
      }
    });
  }

  void store(std::uint64_t i) {
    const SeedBlockFit& fit = fits_[i];
    const std::uint64_t block = slice_ * fits_.size() + i;
    unsigned word = 0;
    for (unsigned p = 0; p < n_coefs_; ++p) word |= (static_cast<unsigned>(fit.q[p]) & 0xfu) << (4 * p);
    if (n_coefs_ == 3) {
      word = word << 4 | fit.code;
    } else {
      out_.scales[block / 2] |= static_cast<std::byte>(block % 2 == 0 ? fit.code : fit.code << 4);
    }
    store_le(out_.seeds.data() + 2 * block, fit.seed);
    store_le(out_.data.data() + 2 * block, static_cast<std::uint16_t>(word));
  }

  unsigned n_coefs_;
  const MatrixSource& source_;
  std::uint64_t slice_;
  std::uint64_t n_groups_;
  const MatrixEncoder& encoder_;
  EncodedMatrix& out_;
  std::int32_t bias_ = 0;
  std::vector<SeedBlockFit> fits_;
};

Result<EncodedMatrix> encode_seeds(Encoding encoding, const MatrixSource& source,
                                   const MatrixEncoder& encoder) {
  const EncodingInfo& info = encoding_info(encoding);
  const std::uint64_t n_blocks = source.slices * source.rows * source.cols / info.block_weights;
  EncodedMatrix out;
  out.data.resize(n_blocks * info.block_bytes);
  out.scales.resize(n_blocks * info.scale_bytes);
  out.seeds.resize(n_blocks * info.seed_bytes);
  out.biases.resize(4 * source.slices);
  for (std::uint64_t slice = 0; slice < source.slices; ++slice) {
    ML_CHECK(SliceEncoder(encoding, source, slice, encoder, out).run(info));
  }
  return out;
}

}  // namespace

Result<EncodedMatrix> encode_matrix(Encoding encoding, const MatrixSource& source,
                                    const MatrixEncoder& encoder) {
  ML_CHECK(check_finite(source));
  if (encoding == Encoding::bf16) {
    if (encoder.advance) encoder.advance(source.bf16.size() / 2);
    return EncodedMatrix{.data = {source.bf16.begin(), source.bf16.end()}};
  }
  if (encoding_info(encoding).seed_bytes != 0) return encode_seeds(encoding, source, encoder);
  return encode_groups(encoding, source, encoder);
}

}  // namespace ml
