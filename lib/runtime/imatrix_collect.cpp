#include "runtime/imatrix_sums.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

Imatrix zeros(const ImatrixShape& shape) {
  return {.shape = shape, .sums = std::vector<double>(shape.n_sums())};
}

std::optional<Error> find_non_finite(const Imatrix& imatrix, std::uint32_t layer, ImatrixInput input) {
  const std::span<const double> sums = imatrix.of(layer, input);
  const auto bad = std::find_if_not(sums.begin(), sums.end(), [](double sum) { return std::isfinite(sum); });
  if (bad == sums.end()) return std::nullopt;
  return Error{.status = Status::format,
               .message = fmt::format("input of channel {} is {}, must be finite", bad - sums.begin(),
                                      std::isnan(*bad) ? "NaN" : "infinite"),
               .tensor = imatrix_sums_name(layer, input)};
}

std::optional<Error> find_non_finite(const Imatrix& imatrix) {
  for (std::uint32_t layer = 0; layer < imatrix.shape.n_layers; ++layer) {
    for (const ImatrixInput input : imatrix_layer_inputs()) {
      if (auto error = find_non_finite(imatrix, layer, input)) return error;
    }
  }
  return find_non_finite(imatrix, 0, ImatrixInput::classifier);
}

}  // namespace

void ImatrixCollector::Impl::add(ThreadPool& pool, std::uint32_t layer, ImatrixInput input, const Operand& x,
                                 std::uint64_t n_tokens) {
  constexpr std::uint64_t kGrain = 512;  // channels
  double* sums = part.sums.data() + part.shape.first_sum(layer, input);
  pool.run(x.cols(), kGrain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t token = 0; token < n_tokens; ++token) {
      const float* row = x.row(token);
      for (std::uint64_t channel = begin; channel < end; ++channel) {
        const double value = row[channel];
        sums[channel] += value * value;
      }
    }
  });
}

ImatrixCollector::ImatrixCollector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ImatrixCollector::ImatrixCollector(ImatrixCollector&&) noexcept = default;
ImatrixCollector& ImatrixCollector::operator=(ImatrixCollector&&) noexcept = default;
ImatrixCollector::~ImatrixCollector() = default;

Result<ImatrixCollector> ImatrixCollector::create(const ModelDesc& desc) {
  ML_TRY(const ImatrixShape shape, imatrix_shape(desc));
  return ImatrixCollector(std::make_unique<Impl>(Impl{zeros(shape), zeros(shape)}));
}

Result<ImatrixCollector> ImatrixCollector::resume(const ModelDesc& desc, Imatrix total) {
  ML_CHECK(check_imatrix_fits(total, desc));
  Imatrix part = zeros(total.shape);
  return ImatrixCollector(std::make_unique<Impl>(Impl{std::move(total), std::move(part)}));
}

Result<void> ImatrixCollector::accept() {
  Imatrix& part = impl_->part;
  Imatrix& total = impl_->total;
  auto error = find_non_finite(part);
  if (!error) {
    for (std::size_t i = 0; i < part.sums.size(); ++i) total.sums[i] += part.sums[i];
    total.tokens += part.tokens;
    total.classifier_tokens += part.classifier_tokens;
  }
  std::fill(part.sums.begin(), part.sums.end(), 0.0);
  part.tokens = 0;
  part.classifier_tokens = 0;
  if (error) return *std::move(error);
  return {};
}

const Imatrix& ImatrixCollector::total() const { return impl_->total; }

}  // namespace ml
