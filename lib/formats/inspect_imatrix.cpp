#include "formats/imatrix.hpp"
#include "formats/inspect.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

#include <algorithm>
#include <limits>

namespace ml {

namespace {

void add_fields(const Imatrix& imatrix, FileReport& report) {
  const ImatrixShape& shape = imatrix.shape;
  const std::uint64_t stored_q_dim = shape.q_dim == shape.dim ? 0 : shape.q_dim;
  report.fields = {
      {"magic", std::string("MLI1"), 0, "MLI1"},
      {"version", std::uint64_t{1}, 4, "version of the format"},
      {"n_layers", std::uint64_t{shape.n_layers}, 8, "layers"},
      {"dim", std::uint64_t{shape.dim}, 12, "width of the model"},
      {"hidden_dim", std::uint64_t{shape.hidden_dim}, 16, "width of the feed-forward"},
      {"q_dim", stored_q_dim, 20, "width of the attention's output; 0: dim"},
      {"tokens", imatrix.tokens, 24, "tokens summed into the layers"},
      {"classifier_tokens", imatrix.classifier_tokens, 32, "tokens summed into the classifier"},
  };
}

}  // namespace

Result<FileReport> inspect_imatrix(std::shared_ptr<const InputBytes> input, const std::string& path,
                                   const InspectOptions& options) {
  const std::span<const std::byte> bytes = input->data();
  FileReport report{.format = "mli1", .title = "MLI1 importance matrix"};
  add_file(report, path, input);
  if (options.check) report.defects = check_imatrix(bytes);
  if (!report.defects.empty()) return report;
  ML_TRY(const Imatrix imatrix, read_imatrix(bytes));
  report.title = "MLI1 importance matrix, version 1";
  add_fields(imatrix, report);

  // Statistics are of the mean squares, as float32.
  auto values = std::make_shared<std::vector<float>>(imatrix.sums.size());
  const auto add = [&](std::uint32_t layer, ImatrixInput which) {
    const std::uint64_t first = imatrix.shape.first_sum(layer, which);
    const std::uint64_t n = imatrix.shape.n_channels(which);
    const double tokens = std::max(1.0, static_cast<double>(imatrix.tokens_of(which)));
    const std::span<float> means = std::span(*values).subspan(first, n);
    std::transform(
        imatrix.sums.begin() + static_cast<std::ptrdiff_t>(first),
        imatrix.sums.begin() + static_cast<std::ptrdiff_t>(first + n), means.begin(), [&](double sum) {
          return static_cast<float>(std::min<double>(sum / tokens, std::numeric_limits<float>::max()));
        });
    order_le(means.data(), sizeof(float), means.size());  // as a tensor of a file
    report.arrays.push_back({.name = imatrix_sums_name(layer, which),
                             .layer = which == ImatrixInput::classifier ? kNoLayer : layer,
                             .encoding = "f64",
                             .shape = {n},
                             .offset = imatrix_sum_offset(first),
                             .data = bytes.subspan(imatrix_sum_offset(first), n * sizeof(double)),
                             .view = TensorView{.rows = 1, .cols = n, .data = std::as_bytes(means)}});
  };
  for (std::uint32_t layer = 0; layer < imatrix.shape.n_layers; ++layer) {
    for (const ImatrixInput which : imatrix_layer_inputs()) add(layer, which);
  }
  add(0, ImatrixInput::classifier);
  report.storage.push_back(std::move(values));
  return report;
}

}  // namespace ml
