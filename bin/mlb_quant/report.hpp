#pragma once

#include "mlb_quant/options.hpp"

#include <ml/quantize.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mlb_quant {

/// What --json prints: of a plan (--dry-run) without errors and times.
nlohmann::ordered_json to_json(const Arguments& arguments, const ml::QuantizeOptions& options,
                               const ml::QuantizeReport& report);

/// What --dry-run prints: a row for each array, and the size of the file.
std::string plan_text(const ml::QuantizeReport& report);

/// Notes what of the model is not as the source has it.
void note_changes(cli::Tool& tool, const Arguments& arguments, const ml::QuantizeReport& report);

/// Notes matrices that the importance matrix says nothing of.
void note_unweighted(cli::Tool& tool, const Arguments& arguments, const ml::QuantizeReport& report);

/// Notes size, largest error and time.
void note_result(cli::Tool& tool, const Arguments& arguments, const ml::QuantizeReport& report);

/// With --verbose: what each tensor becomes, and why.
void detail_tensors(cli::Tool& tool, const ml::QuantizeOptions& options, const ml::QuantizeReport& report);

}  // namespace mlb_quant
