#pragma once

#include "ml_run/options.hpp"

#include <ml/sampling.hpp>
#include <ml/status.hpp>
#include <ml/tokenizer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// One line of --jsonl: a prompt, and how to answer it. What it leaves out is as the command line says.
struct Request {
  std::vector<std::uint32_t> tokens;
  std::uint32_t n = 0;
  ml::SamplingOptions sampling;
  std::vector<std::string> stops;
};

/// Reads {"prompt": TEXT} or {"tokens": [...]} with, all optional, "n", "temp", "top_k", "top_p", "min_p",
/// "repeat_penalty", "seed", "stop" (a text or a list).
///
/// @error arg, format  names the key
ml::Result<Request> parse_request(std::string_view line, const RunOptions& options,
                                  const ml::Tokenizer& tokenizer);

}  // namespace cli
