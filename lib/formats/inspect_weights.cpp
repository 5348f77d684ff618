#include "formats/defect_list.hpp"
#include "formats/inspect_tensors.hpp"

#include <fmt/format.h>

#include <array>

namespace ml {

namespace {

// @param part  of the tensor, before its row; or empty
Error non_finite(std::array<std::uint64_t, 2> at, std::string_view part, const std::string& name) {
  return {.status = Status::format,
          .message = fmt::format("{}row {}, column {} is not finite", part, at[0], at[1]),
          .tensor = name};
}

void append(DefectList defects, FileReport& report) {
  for (Error& defect : defects.take()) report.defects.push_back(std::move(defect));
}

}  // namespace

void check_weights(std::span<const Tensor> tensors, const InspectOptions& options, FileReport& report) {
  std::uint64_t total = 0;
  for (const Tensor& tensor : tensors) total += tensor.view.n_bytes();
  std::uint64_t done = 0;
  DefectList defects;
  for (const Tensor& tensor : tensors) {
    if (const auto at = find_non_finite(tensor.view)) {
      const std::string expert =
          tensor.expert == kNoExpert ? std::string() : fmt::format("expert {}, ", tensor.expert);
      defects.add(non_finite(*at, expert, tensor.name));
    }
    done += tensor.view.n_bytes();
    if (options.progress) options.progress(done, total);
  }
  append(std::move(defects), report);
}

void check_arrays(const InspectOptions& options, FileReport& report) {
  const auto holds_weights = [](const InfoArray& array) { return array.view || array.packed; };
  std::uint64_t total = 0;
  for (const InfoArray& array : report.arrays) total += holds_weights(array) ? array.n_bytes() : 0;
  std::uint64_t done = 0;
  DefectList defects;
  for (const InfoArray& array : report.arrays) {
    if (!holds_weights(array)) continue;
    const std::string& path = report.files[array.file].path;
    // Of a type that is not decoded nothing can be said; whether a model may have it is asked elsewhere.
    if (auto weights = load_weights(array); weights) {
      if (const auto at = find_non_finite(weights->view))
        defects.add(with_path(non_finite(*at, "", array.name), path));
    } else if (weights.error().status != Status::unsupported) {
      defects.add(with_path(std::move(weights.error()), path));
    }
    done += array.n_bytes();
    if (options.progress) options.progress(done, total);
  }
  append(std::move(defects), report);
}

}  // namespace ml
