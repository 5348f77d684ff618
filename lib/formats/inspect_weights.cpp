#include "formats/inspect_tensors.hpp"

#include <fmt/format.h>

namespace ml {

void check_weights(std::span<const Tensor> tensors, const InspectOptions& options, FileReport& report) {
  std::uint64_t total = 0;
  for (const Tensor& tensor : tensors) total += tensor.view.n_bytes();
  std::uint64_t done = 0;
  for (const Tensor& tensor : tensors) {
    if (const auto at = find_non_finite(tensor.view)) {
      const std::string expert =
          tensor.expert == kNoExpert ? std::string() : fmt::format("expert {}, ", tensor.expert);
      report.defects.push_back(
          {.status = Status::format,
           .message = fmt::format("{}row {}, column {} is not finite", expert, (*at)[0], (*at)[1]),
           .tensor = tensor.name});
    }
    done += tensor.view.n_bytes();
    if (options.progress) options.progress(done, total);
  }
}

}  // namespace ml
