#include "quantize/mog_plan.hpp"

#include <ml/inspect.hpp>

#include "convert/tokenizer.hpp"
#include "formats/mog_layout.hpp"
#include "formats/mog_tokenizer.hpp"
#include "util/bytes.hpp"
#include "util/json.hpp"
#include "util/name_list.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace ml {

namespace {

using nlohmann::json;

std::string known_encodings() {
  return "f32, f16, bf16, or int8, int4, int4h, int8r16, int4r16 with _g32, _g64, _g128 and _f32, _f16, as "
         "int4_g64_f32";
}

bool rotates(Role role) {
  return role == Role::wq || role == Role::wk || role == Role::bq || role == Role::bk ||
         role == Role::q_norm || role == Role::k_norm;
}

// A tensor that an entry gives to a slot.
struct Given {
  RecipeEntry entry;
  MogSlot slot;
  RecipeFiles::Found found;
};

class Planner {
 public:
  Planner(MogPack::Impl& pack, const json& recipe) : pack_(pack), recipe_(recipe) {}

  Result<void> plan() {
    ML_CHECK(check_recipe_keys(recipe_, "", {"architecture", "files", "config", "tensors"}, {"tokenizer"}));
    ML_TRY(const MogArchitecture architecture, read_recipe_architecture(recipe_));
    ML_TRY(RecipeFiles files, RecipeFiles::create(recipe_["files"], pack_.options.root));
    pack_.files = std::make_unique<RecipeFiles>(std::move(files));
    ML_TRY(config_, read_recipe_config(recipe_, *pack_.files));
    ML_CHECK(take_entries());
    ML_CHECK(choose_layout());
    ML_CHECK(check_missing());
    ML_TRY(std::vector<std::byte> tokenizer, read_tokenizer());
    ML_CHECK(make_tensors());
    pack_.report.architecture = architecture.name;
    pack_.report.config = config_.config;
    std::vector<MlbArray*> arrays;
    for (MogPackedTensor& tensor : pack_.report.tensors) arrays.push_back(&tensor.array);
    pack_.plan = plan_mog(architecture.id, config_.config, std::move(tokenizer), arrays);
    finish_report();
    return {};
  }

 private:
  Result<void> take_entries() {
    ML_TRY(const std::vector<RecipeEntry> entries, expand_entries(recipe_["tensors"], *pack_.files));
    for (const RecipeEntry& entry : entries) {
      const auto slot = find_mog_slot(entry.name);
      if (!slot) {
        return recipe_error(entry.at + ".name", fmt::format("is \"{}\", which is no slot (mog(5) lists them)",
                                                            show_name(entry.name)));
      }
      if (find_mog_encoding(entry.encoding) == nullptr) {
        return recipe_error(
            entry.at + ".encoding",
            fmt::format("is \"{}\", must be {}", show_name(entry.encoding), known_encodings()));
      }
      const bool wanted = has_mog_slot(config_.desc, *slot);
      if (!wanted && !entry.optional) {
        return recipe_error(
            entry.at + ".name",
            fmt::format("is \"{}\", which a model with this config does not have", entry.name));
      }
      ML_TRY(const auto found, pack_.files->tensor(entry.file, entry.path, entry.at));
      if (found.tensor == nullptr && !entry.optional) {
        return recipe_error(entry.at + ".path", fmt::format("is \"{}\", which {} does not hold",
                                                            show_name(entry.path), show_name(entry.file)));
      }
      if (!wanted || found.tensor == nullptr) continue;
      const auto [earlier, fresh] = given_.emplace(entry.name, Given{entry, *slot, found});
      if (!fresh) {
        return recipe_error(entry.at + ".name", fmt::format("is \"{}\", which {} gives already", entry.name,
                                                            earlier->second.entry.at));
      }
    }
    return {};
  }

  // Without rope_layout in the recipe the transforms say it: all rows of q and k are interleaved, or none.
  Result<void> choose_layout() {
    if (config_.layout_given) return {};
    const Given* plain = nullptr;
    const Given* interleaved = nullptr;
    for (const auto& [name, given] : given_) {
      if (!rotates(given.slot.role)) continue;
      const auto& transforms = given.entry.transforms;
      const bool has = std::find(transforms.begin(), transforms.end(), "rope_interleave") != transforms.end();
      const Given*& first = has ? interleaved : plain;
      if (first == nullptr) first = &given;
    }
    if (plain != nullptr && interleaved != nullptr) {
      return recipe_error(plain->entry.at,
                          fmt::format("gives {} without rope_interleave, but {} gives {} with it",
                                      plain->entry.name, interleaved->entry.at, interleaved->entry.name));
    }
    config_.config.rope_layout = plain != nullptr ? 1 : 0;
    config_.desc = mog_desc(config_.config);
    return {};
  }

  Result<void> check_missing() const {
    NameList missing;
    for (const MogSlot slot : mog_slots(config_.config.n_layers)) {
      const std::string name = mog_slot_name(slot);
      if (has_mog_slot(config_.desc, slot) && !given_.contains(name)) missing.add(name);
    }
    if (missing.empty()) return {};
    return recipe_error("tensors", fmt::format("give nothing to {} that a model with this config needs",
                                               missing.text("slot")));
  }

  Result<std::vector<std::byte>> read_tokenizer() {
    if (!recipe_.contains("tokenizer")) return std::vector<std::byte>();
    const json& tokenizer = recipe_["tokenizer"];
    ML_CHECK(check_recipe_keys(tokenizer, "tokenizer", {"file"}, {"optional"}));
    const json optional = tokenizer.value("optional", json(false));
    if (!optional.is_boolean()) {
      return recipe_error("tokenizer.optional",
                          fmt::format("is {}, must be true or false", show_json(optional)));
    }
    if (!tokenizer["file"].is_string())
      return recipe_error("tokenizer.file",
                          fmt::format("is {}, must be a string", show_json(tokenizer["file"])));
    ML_TRY(const std::string path, pack_.files->path(tokenizer["file"].get<std::string>(), "tokenizer.file"));
    pack_.tokenizer = path;
    std::error_code ignored;
    if (optional.get<bool>() && !std::filesystem::exists(path, ignored)) return std::vector<std::byte>();
    ML_TRY(auto input, InputBytes::open_regular(path));
    ML_TRY(const LoadedTokenizer loaded, load_tokenizer(TokenizerSource{path, std::move(input)}, {}));
    auto bytes = write_mog_tokenizer(loaded.contents);
    if (!bytes) return with_path(std::move(bytes.error()), path);
    for (const std::string& note : loaded.notes) pack_.report.notes.push_back(note);
    if (loaded.contents.tokens.size() > config_.desc.vocab) {
      pack_.report.notes.push_back(fmt::format("the tokenizer has {} ids, the model {}",
                                               loaded.contents.tokens.size(), config_.desc.vocab));
    }
    return std::move(*bytes);
  }

  // The encoding of a slot: the entry's, or that of the last override that matches.
  const MogEncoding* encoding_of(const Given& given, std::optional<std::size_t>& decided) {
    const MogEncoding* encoding = find_mog_encoding(given.entry.encoding);
    for (std::size_t i = 0; i < pack_.options.overrides.size(); ++i) {
      const MogOverride& row = pack_.options.overrides[i];
      if (::fnmatch(row.glob.c_str(), given.entry.name.c_str(), 0) != 0) continue;
      encoding = find_mog_encoding(row.encoding);
      decided = i;
      used_.resize(pack_.options.overrides.size());
      used_[i] = true;
    }
    return encoding;
  }

  Result<void> make_tensors() {
    const auto& overrides = pack_.options.overrides;
    for (const MogOverride& row : overrides) {
      if (find_mog_encoding(row.encoding) != nullptr) continue;
      return Error{.status = Status::arg,
                   .message = fmt::format("encoding of {} is \"{}\", must be {}", show_name(row.glob),
                                          show_name(row.encoding), known_encodings())};
    }
    for (const MogSlot slot : mog_slots(config_.config.n_layers)) {
      const auto entry = given_.find(mog_slot_name(slot));
      if (entry == given_.end()) continue;
      const Given& given = entry->second;
      ML_TRY(RecipeTensor source, RecipeTensor::create(*given.found.tensor, given.entry, slot, config_));
      std::optional<std::size_t> decided;
      const MogEncoding& encoding = *encoding_of(given, decided);
      if (const auto defect = mog_encoding_defect(encoding, source.rows(), source.cols())) {
        return recipe_error(given.entry.at + ".encoding", fmt::format("of {}: {}", given.entry.name, *defect),
                            Status::shape);
      }
      pack_.report.tensors.push_back({.slot = given.entry.name,
                                      .source = given.entry.path,
                                      .file = given.found.shard->path,
                                      .encoding = encoding.name,
                                      .override_row = decided,
                                      .array = {.role = slot.role,
                                                .layer = slot.layer,
                                                .encoding = encoding.encoding,
                                                .scale_type = encoding.scale_type,
                                                .rows = source.rows(),
                                                .cols = source.cols()}});
      pack_.sources.push_back(std::move(source));
      pack_.round.push_back(given.entry.round);
    }
    used_.resize(overrides.size());
    for (std::size_t i = 0; i < overrides.size(); ++i) {
      if (used_[i]) continue;
      return Error{.status = Status::arg,
                   .message = fmt::format("no tensor's slot matches {}", show_name(overrides[i].glob))};
    }
    return {};
  }

  void finish_report() {
    MogPackReport& report = pack_.report;
    report.tokenizer_offset = pack_.plan.preamble.tokenizer_offset;
    report.tokenizer_bytes = pack_.plan.preamble.tokenizer_size;
    report.directory_offset = pack_.plan.preamble.directory_offset;
    report.n_bytes = pack_.plan.n_bytes;
    std::uint64_t n_bytes = 0;
    for (const MogPackedTensor& tensor : report.tensors) {
      report.n_weights += tensor.array.rows * tensor.array.cols;
      n_bytes += tensor.array.n_bytes + tensor.array.n_scale_bytes;
    }
    report.bits_per_weight = 8.0 * static_cast<double>(n_bytes) / static_cast<double>(report.n_weights);
    if (config_.source_hidden_dim != config_.desc.hidden_dim) {
      report.notes.push_back(
          fmt::format("hidden_dim {} is no multiple of 32: zeros up to {}, which change nothing",
                      config_.source_hidden_dim, config_.desc.hidden_dim));
    }
  }

  MogPack::Impl& pack_;
  const json& recipe_;
  RecipeConfig config_;
  std::map<std::string, Given> given_;
  std::vector<bool> used_;  // of the overrides
};

}  // namespace

MogPack::MogPack(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

const MogPackReport& MogPack::report() const { return impl_->report; }

std::vector<std::string> MogPack::inputs() const {
  std::vector<std::string> paths{impl_->recipe};
  for (std::string& path : impl_->files->opened()) paths.push_back(std::move(path));
  if (!impl_->tokenizer.empty()) {
    for (std::string& path : input_files(impl_->tokenizer)) paths.push_back(std::move(path));
  }
  return paths;
}

Result<MogPack> MogPack::plan(const std::string& recipe, const MogPackOptions& options) {
  auto pack = std::make_shared<Impl>();
  pack->recipe = recipe;
  pack->options = options;
  if (pack->options.root.empty()) pack->options.root = std::filesystem::path(recipe).parent_path().string();
  if (pack->options.root.empty()) pack->options.root = ".";
  ML_TRY(const auto input, InputBytes::open(recipe, {.max_bytes = kMaxJsonBytes}));
  const auto document = parse_json(as_text(input->data()));
  if (!document) return with_path(document.error(), recipe);
  if (auto ok = Planner(*pack, *document).plan(); !ok) {
    // What --set says is no mistake of the recipe.
    return ok.error().status == Status::arg ? std::move(ok.error())
                                            : with_path(std::move(ok.error()), recipe);
  }
  return MogPack(std::move(pack));
}

Result<void> MogPack::write(OutputFile& out) const {
  const std::uint64_t start = out.position();
  ML_CHECK(write_mog_head(impl_->plan, out));
  return write_mog_payload(*impl_, out, start);
}

}  // namespace ml
