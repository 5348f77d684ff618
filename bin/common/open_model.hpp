#pragma once

#include "common/tool.hpp"

#include <ml/logits_file.hpp>
#include <ml/model.hpp>
#include <ml/session.hpp>

#include <optional>
#include <string>

namespace cli {

/// Opens a model and notes on stderr what its reader passed over; with --verbose also what it is.
///
/// @error  as ml::Model::open(), with the path
ml::Result<ml::Model> open_model(Tool& tool, const std::string& path, const ml::OpenOptions& options = {});

/// The same for a model or what ml-eval saved of one, also in a pipe.
ml::Result<ml::ModelOrLogits> open_model_or_logits(Tool& tool, const std::string& path,
                                                   const ml::OpenOptions& options = {});

/// The tokenizer that goes with a model: the one that was named, else its own or the one beside it.
///
/// @return  its path, or "" where there is none
std::string tokenizer_of(Tool& tool, const std::string& named, const std::string& model);

/// The error of a model that cannot be opened. Of a line like llama.cpp's, `-m MODEL -f TEXT-FILE`, it says
/// how that was read: the operand is the model, -m its tokenizer and -f is --force.
///
/// @param named  what -m names
ml::Error as_it_was_read(const Tool& tool, ml::Error error, const std::string& model,
                         const std::string& named);

/// With --verbose: what the caches of the model's sessions are kept in, and why.
void detail_session(Tool& tool, const ml::ModelDesc& desc, ml::Activations activations,
                    std::optional<ml::KvType> kv);

}  // namespace cli
