#include "c/c_call.hpp"
#include "c/c_handles.hpp"
#include "util/try.hpp"

#include <ml/generation.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace {

// Such that it still leads to the file when the working directory is another; "-" is standard input.
std::string lasting(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return path == "-" || error ? path : absolute.string();
}

}  // namespace

extern "C" {

ml_status ml_model_open(const char* path, ml_model** model) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({path, model}));
    auto opened = ml::Model::open(path);
    if (!opened) return ml::with_path(std::move(opened.error()), path);
    auto ends = ml::end_tokens(path);
    if (!ends) return ml::with_path(std::move(ends.error()), path);
    *model =
        new ml_model{std::make_shared<const ml::Model>(std::move(*opened)), std::move(*ends), lasting(path)};
    return {};
  });
}

void ml_model_free(ml_model* model) { delete model; }

uint32_t ml_model_vocab(const ml_model* model) { return model == nullptr ? 0 : model->model->desc().vocab; }

uint32_t ml_model_max_seq(const ml_model* model) {
  return model == nullptr ? 0 : model->model->desc().max_seq;
}

uint32_t ml_model_n_layers(const ml_model* model) {
  return model == nullptr ? 0 : model->model->desc().n_layers();
}

uint64_t ml_model_n_weights(const ml_model* model) {
  return model == nullptr ? 0 : model->model->n_weights();
}

uint64_t ml_model_n_bytes(const ml_model* model) { return model == nullptr ? 0 : model->model->n_bytes(); }

int ml_model_ends(const ml_model* model, uint32_t id) {
  return model != nullptr && std::find(model->ends.begin(), model->ends.end(), id) != model->ends.end();
}

}  // extern "C"
