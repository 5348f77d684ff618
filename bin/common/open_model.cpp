#include "common/open_model.hpp"

#include "common/standard_input.hpp"
#include "common/text.hpp"

#include <ml/inspect.hpp>
#include <ml/tokenizer.hpp>

namespace cli {

namespace {

void note_model(Tool& tool, const std::string& path, const ml::Model& model) {
  tool.detail("{}: {}, {} of weights", input_name(path), model.format(), human_size(model.n_bytes()));
  for (const ml::Error& warning : model.warnings()) tool.note(ml::describe(ml::with_path(warning, path)));
}

}  // namespace

ml::Result<ml::Model> open_model(Tool& tool, const std::string& path, const ml::OpenOptions& options) {
  auto model = ml::Model::open(path, options);
  if (!model) return ml::with_path(std::move(model.error()), input_name(path));
  note_model(tool, path, *model);
  return model;
}

ml::Result<ml::ModelOrLogits> open_model_or_logits(Tool& tool, const std::string& path,
                                                   const ml::OpenOptions& options) {
  auto opened = ml::open_model_or_logits(path, options);
  if (!opened) return ml::with_path(std::move(opened.error()), input_name(path));
  if (const auto* model = std::get_if<ml::Model>(&*opened)) note_model(tool, path, *model);
  return opened;
}

void detail_session(Tool& tool, const ml::ModelDesc& desc, ml::Activations activations,
                    std::optional<ml::KvType> kv) {
  tool.detail("KV cache {}: {}", ml::kv_type_name(kv.value_or(ml::default_kv(desc, activations))),
              kv                                    ? "as --kv says"
              : desc.has_latent()                   ? "the default of latent attention"
              : activations == ml::Activations::f32 ? "the default with float32 activations"
                                                    : "the default with 8-bit activations");
}

std::string tokenizer_of(Tool& tool, const std::string& named, const std::string& model) {
  if (!named.empty()) return named;
  std::string path = ml::find_tokenizer(model);
  if (!path.empty())
    tool.detail("tokenizer {}: {}", path, path == model ? "the model's own" : "beside the model");
  return path;
}

ml::Error as_it_was_read(const Tool& tool, ml::Error error, const std::string& model,
                         const std::string& named) {
  const auto may_be_model = [](const std::string& path) {
    const std::string format = ml::file_format(path);
    return format == "mlb" || format == "mog" || format == "gguf" || format == "folder";
  };
  if (named.empty() || model == "-" || may_be_model(model) || !may_be_model(named)) return error;
  error.message = fmt::format("is read as MODEL, -m {} as its tokenizer{}; {}", named,
                              tool.force() ? ", -f as --force" : "", error.message);
  return error;
}

}  // namespace cli
