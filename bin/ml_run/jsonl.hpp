#pragma once

#include "ml_run/options.hpp"

#include <ml/model.hpp>
#include <ml/tokenizer.hpp>

#include <cstdint>
#include <vector>

namespace cli {

/// Answers prompts from standard input (--jsonl): a JSON object a line in, one out, in order. Several are
/// under way at a time, and each gets the answer that it would get alone.
///
/// @param ends  tokens that end a text
void run_jsonl(Tool& tool, const RunOptions& options, const ml::Model& model, const ml::Tokenizer& tokenizer,
               const std::vector<std::uint32_t>& ends);

}  // namespace cli
