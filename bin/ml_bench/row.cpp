// Numbers that follow from the measurements of a row.

#include "ml_bench/measure.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ml_bench {

namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

}  // namespace

std::string Row::name() const {
  return fmt::format("{}{}{}", decode ? "tg" : "pp", n, depth == 0 ? "" : fmt::format(" @ d{}", depth));
}

double Row::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double Row::mean() const { return mean_of(seconds); }
double Row::deviation() const { return deviation_of(seconds); }

double Row::deviation_of_speed() const {
  std::vector<double> speeds;
  for (const double duration : seconds) speeds.push_back(tokens_per_second(duration));
  return deviation_of(speeds);
}

double Row::bytes_per_second(std::uint32_t batch) const {
  const double n_passes = decode ? n : std::ceil(static_cast<double>(n) / batch);
  return static_cast<double>(model->decode_bytes) * n_passes / median();
}

double Row::operations_per_second() const {
  return decode ? 0 : (model->layer_operations * n + model->classifier_operations) / median();
}

double Row::share_of_limit(std::uint32_t batch) const {
  if (decode) return limits.read_bandwidth > 0 ? bytes_per_second(batch) / limits.read_bandwidth : 0;
  if (!model->quantized || limits.int8_peak == 0) return 0;
  return operations_per_second() / limits.int8_peak;
}

}  // namespace ml_bench
