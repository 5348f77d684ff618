#include "formats/folder.hpp"

#include "convert/config.hpp"
#include "convert/family.hpp"
#include "convert/tensors.hpp"
#include "formats/shards.hpp"
#include "util/bytes.hpp"
#include "util/try.hpp"

namespace ml {

namespace {

Result<Config> read_config(const std::string& folder) {
  const std::string path = path_in_folder(folder, "config.json");
  ML_TRY(const auto input, InputBytes::open_regular(path, kMaxJsonBytes));
  return Config::parse(as_text(input->data()), path);
}

Result<Model> assemble_folder(const std::string& path, const OpenOptions& options) {
  ML_TRY(const Config config, read_config(path));
  ML_TRY(const Family* family, find_family(config));
  ML_TRY(ModelDesc desc, describe_checkpoint(config, *family));
  ML_TRY(const std::vector<Shard> shards, open_shards(path));

  std::vector<CheckpointEntry> entries;
  std::vector<Model::Storage> storage;
  for (const Shard& shard : shards) {
    storage.push_back(shard.input);
    for (const SafetensorsTensor& tensor : shard.file.tensors) entries.push_back({&tensor, &shard.path});
  }
  ML_TRY(std::vector<CheckpointTensor> tensors, join_entries(entries));
  std::vector<Error> warnings;
  for (const CheckpointTensor& tensor : tensors) {
    if (tensor.orphan) warnings.push_back(orphan_warning(tensor));
  }
  if (options.strict && !warnings.empty()) return std::move(warnings.front());
  const CheckpointTensors checkpoint(std::move(tensors));
  ML_TRY(MappedTensors mapped, map_tensors(checkpoint, *family, desc));
  for (Model::Storage& copy : mapped.storage) storage.push_back(std::move(copy));
  ML_TRY(Model model, Model::assemble(std::move(desc), std::move(mapped.tensors), std::move(storage)));
  for (Error& warning : warnings) model.add_warning(std::move(warning));
  return model;
}

}  // namespace

Result<const Family*> checkpoint_family(const std::string& path) {
  ML_TRY(const Config config, read_config(path));
  return find_family(config);
}

Result<Model> open_folder(const std::string& path, const OpenOptions& options) {
  auto model = assemble_folder(path, options);
  if (!model) return with_path(std::move(model.error()), path);
  return model;
}

}  // namespace ml
