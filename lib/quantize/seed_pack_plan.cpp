#include "quantize/seed_pack_plan.hpp"

#include "quantize/pack_other_files.hpp"
#include "quantize/stack_experts.hpp"
#include "util/bytes.hpp"
#include "util/glob.hpp"
#include "util/refuse_inputs.hpp"
#include "util/show_name.hpp"
#include "util/text_hash.hpp"
#include "util/try.hpp"

#include <ml/inspect.hpp>

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <numeric>

namespace ml {

namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kLatent = ".self_attn.mla.";
// They choose experts: no engine takes them but as BF16 (nanoseedlm(5), KINDS).
constexpr std::array<std::string_view, 3> kRouters{".mlp.gate.weight", ".v_router.weight",
                                                   ".mlp.shared_expert_gate.weight"};
struct ShortName {
  std::string_view name;
  Encoding encoding;
};
constexpr std::array kShortNames{ShortName{"q8", Encoding::q8g64}, ShortName{"q4", Encoding::q4g64}};

bool is_seeds(Encoding encoding) { return encoding_info(encoding).seed_bytes != 0; }

Error no_input() { return {.status = Status::format, .message = "is no folder and no .safetensors"}; }

Result<std::uint64_t> safetensors_start(std::span<const std::byte> start) {
  if (looks_like_safetensors(start)) return kNoMaxBytes;
  return no_input();
}

Result<void> open_input(const std::string& input, const std::shared_ptr<const InputBytes>& piped,
                        PackPlan& plan) {
  std::error_code error;
  plan.folder = piped == nullptr && std::filesystem::is_directory(input, error);
  if (plan.folder) {
    ML_TRY(plan.shards, open_shards(input));
  } else {
    std::shared_ptr<const InputBytes> bytes = piped;
    if (bytes == nullptr) {
      ML_TRY(bytes, InputBytes::open_regular(input));  // it is read again when it is packed
    }
    if (!looks_like_safetensors(bytes->data())) return with_path(no_input(), input);
    auto file = read_safetensors(bytes->data());
    if (!file) return with_path(std::move(file.error()), input);
    plan.shards.push_back({input, std::move(bytes), std::move(*file)});
  }
  for (const Shard& shard : plan.shards) {
    for (const SafetensorsTensor& tensor : shard.file.tensors) plan.entries.push_back({&tensor, &shard.path});
  }
  return {};
}

// In the order of the input's files and bytes.
Result<void> find_sources(const SeedPackOptions& options, PackPlan& plan) {
  ML_TRY(std::vector<CheckpointTensor> tensors, join_entries(plan.entries));
  std::sort(tensors.begin(), tensors.end(),
            [](const CheckpointTensor& a, const CheckpointTensor& b) { return a.entry < b.entry; });
  for (CheckpointTensor& tensor : tensors) {
    if (!tensor.orphan) {
      plan.sources.push_back({.tensor = std::move(tensor)});
      continue;
    }
    if (options.strict) return orphan_warning(tensor);
    plan.report.warnings.push_back(orphan_warning(tensor));
  }
  return {};
}

// Latent attention stands where its layer's keys stood; keys and values go.
Result<void> replace_by_latent(const LatentConversion& conversion, PackPlan& plan) {
  constexpr std::string_view kKeys = "k_proj.weight";
  const SafetensorsDtype* bf16 = find_safetensors_dtype("BF16");
  std::vector<PackSource> kept;
  std::size_t n_found = 0;
  for (PackSource& source : plan.sources) {
    const std::string& name = source.tensor.name;
    if (std::find(conversion.dropped.begin(), conversion.dropped.end(), name) == conversion.dropped.end()) {
      kept.push_back(std::move(source));
      continue;
    }
    ++n_found;
    if (!name.ends_with(kKeys)) continue;
    const std::string prefix = name.substr(0, name.size() - kKeys.size()) + "mla.";
    for (const LatentTensor& tensor : conversion.tensors) {
      if (!tensor.name.starts_with(prefix)) continue;
      plan.made.push_back({.name = tensor.name, .dtype = bf16, .shape = tensor.shape, .data = tensor.bf16});
      plan.made_entries.push_back({&plan.made.back(), source.tensor.entry->path});
      const std::uint64_t rows = std::accumulate(tensor.shape.begin(), tensor.shape.end() - 1,
                                                 std::uint64_t{1}, std::multiplies<>());
      const TensorView view{
          .encoding = Encoding::bf16, .rows = rows, .cols = tensor.shape.back(), .data = tensor.bf16};
      kept.push_back({.tensor = {.name = tensor.name,
                                 .shape = tensor.shape,
                                 .dtype = bf16->name,
                                 .view = view,
                                 .entry = &plan.made_entries.back()}});
    }
  }
  if (n_found != conversion.dropped.size() || plan.made.size() != conversion.tensors.size())
    return Error{.status = Status::arg, .message = "the conversion is of another model"};
  plan.sources = std::move(kept);
  return {};
}

class Chooser {
 public:
  explicit Chooser(const SeedPackOptions& options) : options_(options), used_(options.rules.size()) {}

  LayoutTensor choose(const CheckpointTensor& source, PackedTensor& row) {
    LayoutTensor tensor{.name = source.name, .dtype = std::string(source.dtype), .shape = source.shape};
    if (!source.view) return tensor;
    const Wish wish = wish_for(source);
    const std::string reason = wish.encoding == Encoding::bf16 ? "" : why_not(source, wish.encoding);
    row.rule = wish.rule;
    if (wish.rule || source.name.ends_with(kWeight)) row.kept = reason;
    if (wish.encoding == Encoding::bf16 || !reason.empty()) {
      tensor.dtype = "BF16";
      if (is_one_row(tensor.shape)) tensor.shape = {tensor.shape.back()};
      if (source.name.find(kLatent) != source.name.npos && source.name.ends_with(kWeight))
        tensor.name.resize(tensor.name.size() - kWeight.size());
      return tensor;
    }
    tensor.dtype.clear();
    tensor.encoding = wish.encoding;
    if (is_seeds(wish.encoding) && !source.name.ends_with(kWeight)) tensor.name += kWeight;
    return tensor;
  }

  Result<void> check_rules() const {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) continue;
      return Error{
          .status = Status::arg,
          .message = fmt::format("no tensor's name fits the rule \"{}\"", options_.rules[i].pattern)};
    }
    return {};
  }

 private:
  struct Wish {
    Encoding encoding;
    std::optional<std::size_t> rule;  // that says so
  };

  Wish wish_for(const CheckpointTensor& source) {
    const std::string& name = source.name;
    Wish wish{Encoding::bf16, {}};
    const bool router =
        std::any_of(kRouters.begin(), kRouters.end(), [&](auto end) { return name.ends_with(end); });
    if (name.find(kLatent) != name.npos) {
      wish.encoding = options_.mla.value_or(options_.encoding);
    } else if (name.ends_with(kWeight) && source.shape.size() > 1 && !router) {
      wish.encoding = options_.encoding;
    }
    for (std::size_t i = 0; i < options_.rules.size(); ++i) {
      if (!matches_glob(options_.rules[i].pattern, name)) continue;
      used_[i] = true;
      wish = {options_.rules[i].encoding, i};
    }
    return wish;
  }

  static std::string why_not(const CheckpointTensor& source, Encoding encoding) {
    const EncodingInfo& info = encoding_info(encoding);
    if (source.shape.size() != 2 && source.shape.size() != 3)
      return fmt::format("{} dimensions, {} needs 2 or 3", source.shape.size(), info.name);
    // MLX reads seeds in pairs of blocks, whatever the encoding.
    const std::uint32_t unit = is_seeds(encoding) ? 16 : info.block_weights;
    if (source.shape.back() % unit != 0)
      return fmt::format("{} columns, {} needs a multiple of {}", source.shape.back(), info.name, unit);
    if (source.name.size() > kMaxEncodedName - kWeight.size())
      return fmt::format("name has {} bytes, too many for {}", source.name.size(), info.name);
    return {};
  }

  // [1, C] and [1, 1, C]: the format writes one row of BF16 as [C].
  static bool is_one_row(const std::vector<std::uint64_t>& shape) {
    return (shape.size() == 2 || shape.size() == 3) &&
           std::all_of(shape.begin(), shape.end() - 1, [](std::uint64_t dim) { return dim == 1; });
  }

  const SeedPackOptions& options_;
  std::vector<bool> used_;
};

Result<void> check_options(const SeedPackOptions& options) {
  const auto writable = [](Encoding encoding) {
    return std::find(pack_encodings().begin(), pack_encodings().end(), encoding) != pack_encodings().end();
  };
  bool all = writable(options.encoding) && (!options.mla || writable(*options.mla));
  for (const PackRule& rule : options.rules) all = all && writable(rule.encoding);
  if (!all) return Error{.status = Status::arg, .message = "an encoding that seed-pack does not write"};
  if (options.shard_bytes == 0)
    return Error{.status = Status::arg, .message = "shard size is 0, must be at least 1"};
  if (const std::string loader = std::filesystem::path(options.loader).filename().string();
      is_file_of_folder(loader)) {
    return Error{.status = Status::arg,
                 .message = fmt::format("the loader is called {}, as another file of the folder", loader),
                 .path = options.loader};
  }
  return {};
}

// A path by which places compare that need not exist yet.
std::filesystem::path place_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path place =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return place.has_filename() ? place : place.parent_path();
}

// Work files among a model's would be taken for shards; a folder made in the output would stand in its way.
// No input has the path "".
Result<void> check_work(const std::string& input, const std::string& output, const std::string& work) {
  if (work.empty()) return {};
  const auto refuse = [&](const char* message) {
    return Error{.status = Status::arg, .message = message, .path = work};
  };
  const std::filesystem::path place = place_of(work);
  const std::filesystem::path out = place_of(output);
  if (!input.empty() && place == place_of(input)) return refuse("work folder and input are the same");
  if (place == out) return refuse("work folder and output are the same");
  if (std::mismatch(out.begin(), out.end(), place.begin(), place.end()).first == out.end())
    return refuse("work folder is in the output");
  return {};
}

// The files that are replaced may be inputs by other names: by links, or as the loader.
Result<void> check_inputs(const std::string& input, const std::string& output, const SeedPackOptions& options,
                          const PackPlan& plan) {
  std::vector<std::string> inputs = input_files(input);
  for (const Shard& shard : plan.shards) inputs.push_back(shard.path);
  for (const std::string& path : plan.copies) inputs.push_back(path);
  for (const std::string& path : options.inputs) inputs.push_back(path);
  return refuse_inputs(output, inputs);
}

}  // namespace

const std::vector<Encoding>& pack_encodings() {
  static const std::vector<Encoding> all{Encoding::bf16,  Encoding::q8g64,   Encoding::q4g64,
                                         Encoding::q4g32, Encoding::seed4p4, Encoding::seed4};
  return all;
}

std::optional<Encoding> find_pack_encoding(std::string_view name) {
  const std::string wanted(name);
  for (const ShortName& row : kShortNames) {
    if (::strcasecmp(wanted.c_str(), std::string(row.name).c_str()) == 0) return row.encoding;
  }
  const auto found = find_encoding(name);
  if (!found || std::find(pack_encodings().begin(), pack_encodings().end(), *found) == pack_encodings().end())
    return {};
  return found;
}

Result<std::shared_ptr<const InputBytes>> read_piped(const std::string& input) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(input, error);
  if (input != "-" && (!std::filesystem::exists(status) || std::filesystem::is_directory(status) ||
                       std::filesystem::is_regular_file(status)))
    return std::shared_ptr<const InputBytes>();
  return InputBytes::open(input, {}, safetensors_start);
}

Result<PackPlan> make_pack_plan(const std::string& input, const std::string& output,
                                const SeedPackOptions& options) {
  ML_CHECK(check_options(options));
  std::error_code error;
  const bool piped = options.piped != nullptr;  // then "-" is no path
  if (!piped && std::filesystem::equivalent(input, output, error))
    return Error{.status = Status::arg, .message = "output and input are the same", .path = output};
  ML_CHECK(check_work(piped ? "" : input, output, options.work));
  PackPlan plan;
  ML_CHECK(open_input(input, options.piped, plan));
  ML_CHECK(find_sources(options, plan));
  if (plan.folder) ML_CHECK(stack_experts(input, plan.sources));
  if (options.latent != nullptr) {
    if (!plan.folder)
      return Error{.status = Status::arg, .message = "only a folder has a model to convert", .path = input};
    ML_CHECK(replace_by_latent(*options.latent, plan));
  }
  Chooser chooser(options);
  for (const PackSource& pack_source : plan.sources) {
    const CheckpointTensor& source = pack_source.tensor;
    PackedTensor row{.source_encoding = std::string(source.dtype)};
    LayoutTensor tensor = chooser.choose(source, row);
    row.name = tensor.name;
    row.shape = tensor.shape;
    row.encoding = tensor.dtype == "BF16" ? "bf16"
                   : tensor.dtype.empty() ? std::string(encoding_info(tensor.encoding).name)
                                          : tensor.dtype;
    row.copied = tensor.dtype.empty()
                     ? source.view->encoding == tensor.encoding && pack_source.experts.empty()
                     : tensor.dtype == source.dtype;
    if (source.view) row.n_weights = source.view->n_weights();
    plan.report.n_weights += row.n_weights;
    plan.tensors.push_back(std::move(tensor));
    plan.report.tensors.push_back(std::move(row));
  }
  ML_CHECK(chooser.check_rules());
  const std::string single = std::filesystem::path(output).filename().string();
  ML_TRY(plan.layout, lay_out(plan.tensors, plan.folder ? options.shard_bytes : 0, single, {}));
  TextSet names;
  for (const LayoutShard& shard : plan.layout.shards) {
    for (const LayoutEntry& entry : shard.entries) {
      if (names.insert(entry.name).second) continue;
      return Error{.status = Status::format,
                   .message = "two tensors would get an entry of this name",
                   .path = input,
                   .tensor = show_name(entry.name)};
    }
    plan.report.n_bytes += shard.n_bytes;
    plan.report.files.push_back(shard.name);
    for (const LayoutEntry& entry : shard.entries) plan.report.tensors[entry.tensor].n_bytes += entry.n_bytes;
  }
  if (plan.folder) ML_CHECK(find_other_files(input, options, plan));
  ML_CHECK(check_inputs(input, output, options, plan));
  if (plan.report.n_weights != 0) {
    plan.report.bits_per_weight =
        8.0 * static_cast<double>(plan.layout.n_entry_bytes) / static_cast<double>(plan.report.n_weights);
  }
  return plan;
}

Result<PackReport> plan_pack(const std::string& input, const std::string& output,
                             const SeedPackOptions& options) {
  ML_TRY(PackPlan plan, make_pack_plan(input, output, options));
  return std::move(plan.report);
}

}  // namespace ml
