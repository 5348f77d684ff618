#include "c/c_call.hpp"
#include "c/c_handles.hpp"
#include "c/c_options.hpp"
#include "util/try.hpp"

namespace {

ml::Result<void> open_tokenizer(const std::string& path, ml_tokenizer** tokenizer) {
  auto opened = ml::Tokenizer::open(path);
  if (!opened) return ml::with_path(std::move(opened.error()), path);
  *tokenizer = new ml_tokenizer{std::move(*opened)};
  return {};
}

// Keeps a piece of text and shows it.
ml::Result<void> show(ml_decoder& decoder, std::string text, const char** out, std::size_t* n_bytes) {
  decoder.text = std::move(text);
  *out = decoder.text.c_str();
  if (n_bytes != nullptr) *n_bytes = decoder.text.size();
  return {};
}

}  // namespace

extern "C" {

ml_status ml_tokenizer_open(const char* path, ml_tokenizer** tokenizer) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({path, tokenizer}));
    return open_tokenizer(path, tokenizer);
  });
}

ml_status ml_tokenizer_of_model(const ml_model* model, ml_tokenizer** tokenizer) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({model, tokenizer}));
    const std::string path = ml::find_tokenizer(model->path);
    if (!path.empty()) return open_tokenizer(path, tokenizer);
    return ml::Error{
        .status = ml::Status::arg, .message = "no tokenizer in or beside the model", .path = model->path};
  });
}

void ml_tokenizer_free(ml_tokenizer* tokenizer) { delete tokenizer; }

uint32_t ml_tokenizer_n_vocab(const ml_tokenizer* tokenizer) {
  return tokenizer == nullptr ? 0 : tokenizer->tokenizer.n_vocab();
}

uint32_t ml_tokenizer_bos(const ml_tokenizer* tokenizer) {
  return tokenizer == nullptr ? ML_NO_TOKEN : tokenizer->tokenizer.bos().value_or(ML_NO_TOKEN);
}

uint32_t ml_tokenizer_eos(const ml_tokenizer* tokenizer) {
  return tokenizer == nullptr ? ML_NO_TOKEN : tokenizer->tokenizer.eos().value_or(ML_NO_TOKEN);
}

ml_status ml_encode(const ml_tokenizer* tokenizer, const char* text, size_t n_bytes, const char* options,
                    uint32_t* ids, size_t capacity, size_t* n_ids) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({tokenizer, n_ids}));
    ML_CHECK(ml::c::check_array(text, n_bytes));
    ML_CHECK(ml::c::check_array(ids, capacity));
    ml::EncodeOptions encode;
    const ml::c::TextOption known[] = {ml::c::switch_option("bos", encode.bos),
                                       ml::c::switch_option("added", encode.added)};
    ML_CHECK(ml::c::read_options(options, known));
    return ml::c::copy_out(tokenizer->tokenizer.encode({text, n_bytes}, encode), ids, capacity, *n_ids);
  });
}

ml_status ml_decode(const ml_tokenizer* tokenizer, const uint32_t* ids, size_t n_ids, char* text,
                    size_t capacity, size_t* n_bytes) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({tokenizer, n_bytes}));
    ML_CHECK(ml::c::check_array(ids, n_ids));
    ML_CHECK(ml::c::check_array(text, capacity));
    return ml::c::copy_out(tokenizer->tokenizer.decode({ids, n_ids}), text, capacity, *n_bytes);
  });
}

ml_status ml_decoder_new(const ml_tokenizer* tokenizer, ml_decoder** decoder) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({tokenizer, decoder}));
    *decoder = new ml_decoder{ml::StreamDecoder(tokenizer->tokenizer), {}};
    return {};
  });
}

ml_status ml_decoder_push(ml_decoder* decoder, const uint32_t* ids, size_t n_ids, const char** text,
                          size_t* n_bytes) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({decoder, text}));
    ML_CHECK(ml::c::check_array(ids, n_ids));
    return show(*decoder, decoder->decoder.push({ids, n_ids}), text, n_bytes);
  });
}

ml_status ml_decoder_finish(ml_decoder* decoder, const char** text, size_t* n_bytes) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({decoder, text}));
    return show(*decoder, decoder->decoder.finish(), text, n_bytes);
  });
}

void ml_decoder_free(ml_decoder* decoder) { delete decoder; }

}  // extern "C"
