/* generate MODEL [PROMPT]: continues a text by up to 40 tokens, through the C interface.
 * cc -std=c99 generate.c $(pkg-config --cflags --libs libml) */

#include <ml/ml.h>

#include <stdio.h>
#include <string.h>

static int failed(ml_status status) {
  if (status != ML_OK) fprintf(stderr, "generate: %s\n", ml_message());
  return status != ML_OK;
}

int main(int argc, char** argv) {
  ml_model* model = NULL;
  ml_tokenizer* tokenizer = NULL;
  ml_decoder* decoder = NULL;
  ml_session* session = NULL;
  ml_sampler* sampler = NULL;
  uint32_t ids[512], id;
  size_t n_ids, i;
  const char* piece = "";
  const char* prompt = argc > 2 ? argv[2] : "Once upon a time";
  int bad = 0;
  if (argc < 2) return fprintf(stderr, "usage: generate MODEL [PROMPT]\n"), 2;

  bad = failed(ml_model_open(argv[1], &model)) || failed(ml_tokenizer_of_model(model, &tokenizer)) ||
        failed(ml_decoder_new(tokenizer, &decoder)) || failed(ml_session_new(model, NULL, &session)) ||
        failed(ml_sampler_new("temp=0", &sampler)) ||
        failed(ml_encode(tokenizer, prompt, strlen(prompt), NULL, ids, 512, &n_ids)) ||
        failed(ml_session_eval(session, ids, n_ids)) ||
        failed(ml_decoder_push(decoder, ids, n_ids, &piece, NULL));
  for (i = 0; i < 40 && !bad; ++i) {
    bad = failed(ml_sampler_sample(sampler, ml_session_logits(session), ml_model_vocab(model), &id));
    if (bad || id == ml_tokenizer_eos(tokenizer) || ml_model_ends(model, id)) break;
    bad = failed(ml_decoder_push(decoder, &id, 1, &piece, NULL)) || failed(ml_session_eval(session, &id, 1));
    if (!bad) fputs(piece, stdout);
  }
  if (!bad && !failed(ml_decoder_finish(decoder, &piece, NULL))) puts(piece);
  ml_sampler_free(sampler);
  ml_session_free(session);
  ml_decoder_free(decoder);
  ml_tokenizer_free(tokenizer);
  ml_model_free(model);
  return bad;
}
