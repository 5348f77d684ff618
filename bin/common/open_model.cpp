#include "common/open_model.hpp"

namespace cli {

ml::Result<ml::Model> open_model(Tool& tool, const std::string& path, const ml::OpenOptions& options) {
  auto model = ml::Model::open(path, options);
  if (!model) return ml::with_path(std::move(model.error()), path == "-" ? "standard input" : path);
  for (const ml::Error& warning : model->warnings()) tool.note(ml::describe(ml::with_path(warning, path)));
  return model;
}

}  // namespace cli
