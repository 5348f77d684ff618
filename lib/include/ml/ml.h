#ifndef ML_ML_H
#define ML_ML_H

/* The C interface of libml, for programs in C and for other languages. ml(3) is its manual.
 *
 * Handles are opaque; every other type is one of C. A program built against an older version of this header
 * runs with a newer library of the same soname: functions are added, none changes.
 *
 * Functions that can fail return a status and leave outputs as they were unless it is ML_OK; ml_message()
 * then tells what is wrong. NULL where a pointer is needed is ML_E_ARG. Pointers that a function returns are
 * owned by the handle.
 *
 * Threads: models and tokenizers are constant and may be shared. A session, sampler or decoder is used by one
 * thread at a time, different ones by different threads at once. Handles may be freed in any order. */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ML_C_API __attribute__((visibility("default")))
#else
#define ML_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What this header declares; grows by one when functions are added. */
#define ML_C_VERSION 1

typedef int32_t ml_status;
enum {
  ML_OK = 0,
  ML_E_IO = 1,          /* cannot open, read, write */
  ML_E_FORMAT = 2,      /* bytes break the format */
  ML_E_SHAPE = 3,       /* a dimension is zero, too large, or does not divide as it must */
  ML_E_UNSUPPORTED = 4, /* valid, but this version cannot do it */
  ML_E_LIMIT = 5,       /* valid, but beyond a limit: the context, the caller's buffer */
  ML_E_NOMEM = 6,       /* memory is exhausted */
  ML_E_ARG = 7          /* the caller passed something unusable */
};

/* No token: what ml_tokenizer_bos() returns where there is none. */
#define ML_NO_TOKEN UINT32_MAX

typedef struct ml_model ml_model;
typedef struct ml_tokenizer ml_tokenizer;
typedef struct ml_decoder ml_decoder;
typedef struct ml_session ml_session;
typedef struct ml_sampler ml_sampler;

/* The library's version, "0.1.0", and the ML_C_VERSION that it was built with. */
ML_C_API const char* ml_version(void);
ML_C_API uint32_t ml_c_version(void);

/* "ML_E_SHAPE"; "ML_OK"; NULL for a number that is no status. */
ML_C_API const char* ml_status_name(ml_status status);

/* One line about the last call of this thread that failed, "" before any: the file, field, value, rule, and
 * the place. Valid until this thread's next failure. */
ML_C_API const char* ml_message(void);

/* Opens a .mlb, .mog or .gguf file or a model folder, checks all of it, and maps its tensors. "-" reads
 * standard input. */
ML_C_API ml_status ml_model_open(const char* path, ml_model** model);
ML_C_API void ml_model_free(ml_model* model);
ML_C_API uint32_t ml_model_vocab(const ml_model* model);   /* logits of a position */
ML_C_API uint32_t ml_model_max_seq(const ml_model* model); /* positions that it was made for */
ML_C_API uint32_t ml_model_n_layers(const ml_model* model);
ML_C_API uint64_t ml_model_n_weights(const ml_model* model);
ML_C_API uint64_t ml_model_n_bytes(const ml_model* model); /* of all tensors as stored */
/* 1 for a token that the model names as the end of a text; otherwise 0. Its tokenizer may know another. */
ML_C_API int ml_model_ends(const ml_model* model, uint32_t id);

/* Opens a .mlt, a .mog or .gguf that holds a tokenizer, a tokenizer.json, or a folder that holds one. */
ML_C_API ml_status ml_tokenizer_open(const char* path, ml_tokenizer** tokenizer);
/* Opens the one that a model holds or that lies beside it. ML_E_ARG: there is none. */
ML_C_API ml_status ml_tokenizer_of_model(const ml_model* model, ml_tokenizer** tokenizer);
ML_C_API void ml_tokenizer_free(ml_tokenizer* tokenizer);
ML_C_API uint32_t ml_tokenizer_n_vocab(const ml_tokenizer* tokenizer);
ML_C_API uint32_t ml_tokenizer_bos(const ml_tokenizer* tokenizer); /* or ML_NO_TOKEN */
ML_C_API uint32_t ml_tokenizer_eos(const ml_tokenizer* tokenizer); /* or ML_NO_TOKEN */

/* Token ids of a text of n_bytes bytes, any bytes. Options: "bos=0|1" (as the tokenizer says), "added=0|1"
 * (1; 0: added tokens in the text are plain text).
 *
 * *n_ids is set to how many there are. A capacity of 0 (ids may be NULL) only asks for that; with a smaller
 * one than *n_ids nothing is written, ML_E_LIMIT. */
ML_C_API ml_status ml_encode(const ml_tokenizer* tokenizer, const char* text, size_t n_bytes,
                             const char* options, uint32_t* ids, size_t capacity, size_t* n_ids);
/* Text of ids, UTF-8 without a NUL at its end; capacity as above. Ids past the vocabulary give nothing. */
ML_C_API ml_status ml_decode(const ml_tokenizer* tokenizer, const uint32_t* ids, size_t n_ids, char* text,
                             size_t capacity, size_t* n_bytes);

/* Decodes a growing sequence of ids: the pieces, joined, are what ml_decode() gives, and none ends inside a
 * character. */
ML_C_API ml_status ml_decoder_new(const ml_tokenizer* tokenizer, ml_decoder** decoder);
/* Adds ids. *text: what is certain now, perhaps "", with a NUL at its end, valid until the decoder's next
 * call; n_bytes may be NULL. */
ML_C_API ml_status ml_decoder_push(ml_decoder* decoder, const uint32_t* ids, size_t n_ids, const char** text,
                                   size_t* n_bytes);
/* The rest. The decoder is as new afterwards. */
ML_C_API ml_status ml_decoder_finish(ml_decoder* decoder, const char** text, size_t* n_bytes);
ML_C_API void ml_decoder_free(ml_decoder* decoder);

/* One sequence running through a model. Options, "key=value" with blanks or commas between them, NULL for
 * none: ctx (positions; 0, the default: the model's, at most 4096), batch (512), threads (0: all), kv (f32,
 * f16, q8, bf16, fp8, fp4), acts (q8 or f32), target (as --target of the tools: scalar, avx2, avxvnni,
 * avx512, neon, dotprod, i8mm; default: ML_TARGET, or the fastest). Batch, threads and target change no bit.
 */
ML_C_API ml_status ml_session_new(const ml_model* model, const char* options, ml_session** session);
ML_C_API void ml_session_free(ml_session* session);
/* Appends ids, at least one. After a failure the sequence and its logits are as they were; after ML_E_NOMEM
 * the session has to be reset. */
ML_C_API ml_status ml_session_eval(ml_session* session, const uint32_t* ids, size_t n_ids);
/* The same; writes the logits of every one: n_ids rows of vocab floats. */
ML_C_API ml_status ml_session_eval_all(ml_session* session, const uint32_t* ids, size_t n_ids, float* logits);
/* Logits of the last token, vocab floats, valid until the session's next call; NULL before any token. */
ML_C_API const float* ml_session_logits(const ml_session* session);
ML_C_API uint32_t ml_session_position(const ml_session* session); /* tokens so far */
ML_C_API uint32_t ml_session_ctx(const ml_session* session);
/* Forgets all tokens. */
ML_C_API ml_status ml_session_reset(ml_session* session);

/* Draws ids from logits. Options: temp (0: the largest), top_k (0: all), top_p (1), min_p (0), repeat_penalty
 * (1), repeat_last (64), seed (0). Equal options and logits give equal ids on every machine. */
ML_C_API ml_status ml_sampler_new(const char* options, ml_sampler** sampler);
ML_C_API void ml_sampler_free(ml_sampler* sampler);
/* Tells the repetition penalty what was said: the prompt, and each drawn id. */
ML_C_API ml_status ml_sampler_accept(ml_sampler* sampler, const uint32_t* ids, size_t n_ids);
/* Logits of -infinity are never drawn. ML_E_ARG: one is NaN or +infinity, or none is finite. */
ML_C_API ml_status ml_sampler_sample(ml_sampler* sampler, const float* logits, size_t n_logits, uint32_t* id);

#ifdef __cplusplus
}
#endif

#endif
