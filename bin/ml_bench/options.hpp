#pragma once

#include "common/tool.hpp"

#include <ml/session.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ml_bench {

/// A baseline is compared with no fewer measurements of a test.
inline constexpr std::size_t kLeastSamples = 3;

/// What the command line of ml-bench says.
struct Options {
  std::vector<std::string> models;
  std::vector<std::string> more_models;  // of -m
  std::vector<std::uint32_t> prompts{512};
  std::vector<std::uint32_t> decodes{128};
  std::vector<std::uint32_t> depths{0};
  std::vector<std::uint32_t> threads;
  std::uint32_t repetitions = 5;
  bool no_warmup = false;
  std::uint32_t batch = 512;
  ml::Activations activations = ml::Activations::q8;
  std::optional<ml::KvType> kv;
  std::string format = "md";
  std::string baseline;
  std::optional<double> fail_above;
  bool digest = false;
  std::vector<std::string> encodings;  ///< recipe and list, or empty
  std::vector<std::string> texts;
  std::string tokenizer;
  std::string split;
  std::uint32_t ctx = 0;
  std::string html;
  bool trust = false;
};

/// Adds the options of ml-bench to its table.
void declare_options(cli::Tool& tool, Options& options);

/// Puts the models of -m before the operands, takes --split apart, and looks at the options.
///
/// @return what is wrong with them; "" when nothing is
std::string finish_options(cli::Tool& tool, Options& options);

/// The files that the command reads, beside those of a recipe: none of them is written over.
std::vector<std::string> inputs_of(const Options& options);

}  // namespace ml_bench
