#pragma once

#include "common/tool.hpp"

#include <ml/sampling.hpp>
#include <ml/session.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// What the command line of ml-run says.
struct RunOptions {
  std::string model;
  std::vector<std::string> prompt;
  std::string m;            // the tokenizer or the model: settle_operands()
  std::string p;            // the file of the prompt or the prompt
  std::string named_model;  // of --model
  std::optional<std::string> prompt_text;
  std::string prompt_file;
  std::string tokenizer;
  std::vector<std::uint32_t> tokens;
  std::uint32_t n = 256;
  std::uint32_t ctx = 0;
  std::uint32_t batch = 512;
  ml::SamplingOptions sampling;
  bool random_seed = false;  // sampling.seed was drawn
  std::optional<ml::Activations> activations;
  std::optional<ml::KvType> kv;
  std::string logits;
  std::string routes;
  std::string session;
  std::vector<std::string> stops;
  std::uint32_t lookup = 0;  // tokens; 0: off
  std::string draft;
  std::uint32_t n_draft = 0;  // 0: not given
  bool chat = false;
  std::string system;
  std::string date;
  bool jsonl = false;
  std::uint32_t parallel = 4;
  bool ids = false;
  bool echo = false;
  bool json = false;
  bool digest = false;
  std::string imatrix;
  std::uint32_t chunk = 0;
  std::uint32_t save_every = 0;
  bool all_logits = false;
  bool resume = false;
  std::string shard;
  bool dry_run = false;
  bool stats = false;
  bool trust = false;
};

/// Adds the options of ml-run to its table.
void declare_run_options(Tool& tool, RunOptions& options);

/// Finds out what -m and -p mean, and what the operands are: with a MODEL operand -m is its tokenizer and -p
/// a file, without one they are the model and the prompt, as llama-cli has them. Afterwards `model`,
/// `tokenizer`, `prompt` and `prompt_file` say it.
///
/// @return what is wrong; "" when nothing is
std::string settle_operands(RunOptions& options);

/// True where each word of a prompt is the name of a file: somebody may have meant what is in it.
bool names_files(const std::vector<std::string>& prompt);

/// What the options say of a session; a context that is not given is left to the library.
ml::SessionOptions session_options(const Tool& tool, const RunOptions& options);

/// @return what is wrong with options that exclude each other or are out of range; "" when nothing is
std::string usage_problem(const Tool& tool, const RunOptions& options);

}  // namespace cli
