#include <ml/input.hpp>

#include "util/bytes.hpp"
#include "util/mapped_file.hpp"
#include "util/try.hpp"

namespace ml {

Result<std::string> read_text(const std::string& path) {
  ML_TRY(const auto input, InputBytes::open(path));
  return std::string(as_text(input->data()));
}

}  // namespace ml
