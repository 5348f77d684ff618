#pragma once

#include "common/tool.hpp"

#include <ml/logits_file.hpp>
#include <ml/session.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ml_eval {

/// What the command line of ml-eval says.
struct Options {
  std::string model;
  std::vector<std::string> texts;
  std::string tokenizer;
  std::string split;
  bool bos = false;
  bool no_bos = false;
  std::uint32_t ctx = 0;
  std::uint32_t stride = 0;
  std::uint32_t batch = 512;
  std::uint64_t windows = 0;  // 0: all
  std::string shard;
  std::uint64_t shard_index = 0;  // from 0
  std::uint64_t n_shards = 1;
  ml::Activations activations = ml::Activations::q8;
  std::optional<ml::KvType> kv;
  std::string save_logits;
  std::optional<ml::LogitPrecision> precision;
  std::string against;
  bool by_position = false;
  bool by_window = false;
  std::string format = "text";
  std::string html;
  bool merge = false;
  bool partial = false;
  bool dry_run = false;
  bool trust = false;
};

/// Adds the options of ml-eval to its table.
void declare_options(cli::Tool& tool, Options& options);

/// Takes --split and --shard apart. @return what is wrong with the options; "" when nothing is
std::string finish_options(cli::Tool& tool, Options& options);

}  // namespace ml_eval
