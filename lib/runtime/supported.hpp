#pragma once

#include <ml/model.hpp>

namespace ml {

/// @error unsupported  the model uses a feature that the runtime lacks; the message names field and value
Result<void> check_supported(const ModelDesc& desc);

}  // namespace ml
