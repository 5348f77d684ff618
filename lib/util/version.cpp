#include <ml/version.hpp>

namespace ml {

const char* version() { return ML_VERSION; }

}  // namespace ml
