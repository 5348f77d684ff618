#pragma once

#include "convert/family.hpp"

namespace ml {

extern const Family kLlamaFamily;    ///< Llama 2, 3, 3.1, 3.2, TinyLlama, SmolLM2
extern const Family kMistralFamily;  ///< Mistral: Llama with a sliding window

}  // namespace ml
