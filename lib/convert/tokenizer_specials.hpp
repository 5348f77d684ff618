#pragma once

#include "convert/tokenizer.hpp"
#include "convert/tokenizer_vocab.hpp"

namespace ml {

/// Fills in bos and eos: from tokenizer_config.json where it names them (null: there is none), else from the
/// post-processor (BOS), config.json, generation_config.json.
void choose_specials(MltContents& contents, const TokenizerPipeline& pipeline, const TokenizerVocab& vocab,
                     const TokenizerSideFiles& beside, ConversionLog& log);

}  // namespace ml
