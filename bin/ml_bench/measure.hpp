#pragma once

#include "ml_bench/options.hpp"

#include <ml/probe.hpp>

#include <string>
#include <vector>

namespace ml_bench {

/// What a model takes, whatever the test.
struct ModelFacts {
  std::string path = {};
  std::uint64_t n_bytes = 0;
  std::uint64_t n_weights = 0;
  std::uint64_t decode_bytes = 0;  ///< of weights that a decoded token reads
  double layer_operations = 0;     ///< of a token's matrix products but the classifier's, two a weight
  double classifier_operations = 0;
  double load_seconds = 0;
  double first_token_seconds = 0;  ///< from opening the model to the logits of one token
  std::uint64_t peak_memory = 0;   ///< resident, the mapped file included
  ml::KvType kv = ml::KvType::f16;
  bool quantized = false;  ///< products are of 8-bit integers
};

/// Limits of this machine for some number of threads, the means of before and after.
struct Limits {
  double read_bandwidth = 0;  ///< bytes a second
  double read_drift = 0;      ///< |before - after| / mean
  double int8_peak = 0;       ///< operations a second, 0: unknown
  double int8_drift = 0;
};

/// One test of one model, and its measurements.
struct Row {
  const ModelFacts* model = nullptr;
  bool decode = false;  ///< else prefill
  std::uint32_t n = 0;  ///< tokens read or written
  std::uint32_t depth = 0;
  unsigned threads = 1;
  ml::Target target = ml::Target::best;
  std::vector<double> seconds = {};
  std::string digest = {};
  Limits limits = {};

  std::string name() const;
  double median() const;
  double mean() const;
  double deviation() const;  ///< of the sample; 0 of one
  double tokens_per_second(double duration) const { return n / duration; }
  double deviation_of_speed() const;
  /// Bytes of weights a second.
  double bytes_per_second(std::uint32_t batch) const;
  double operations_per_second() const;  ///< of prefill; 0 for decode
  /// Of the limit that counts: bandwidth for decode, 8-bit products for prefill; 0: unknown.
  double share_of_limit(std::uint32_t batch) const;
};

struct Results {
  std::vector<ModelFacts> models;
  std::vector<Row> rows;
  ml::Machine machine;
};

/// Measures everything. Tests take turns (A B A B ...), so that a machine that changes its speed changes all.
/// A model that cannot be used was reported.
Results measure(cli::Tool& tool, const Options& options);

}  // namespace ml_bench
