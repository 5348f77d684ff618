/* A reader of trusted .mog files (mog(5)) in one file of C99, without a dependency: it reads the whole file, copies the
 * configuration and the directory, and turns offsets into pointers. It checks nothing that a writer promises, so give
 * it only files that you made; libml checks the others.
 *
 *   mog_consumer FILE.mog           the configuration, then a line for each tensor
 *   mog_consumer FILE.mog ID...     the texts of token ids, joined
 *
 * A tensor's line: slot, encoding, dimensions, offsets and sizes of data and scales, and the sum of all their bytes. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct preamble {
  char magic[4];
  uint32_t version, architecture, config_size;
  uint64_t tokenizer_offset, tokenizer_size, directory_offset;
  uint32_t n_records, record_size;
  uint64_t payload_offset, payload_size;
};

struct config {
  uint32_t dim, n_layers, n_heads, n_kv_heads, hidden_dim, vocab, max_seq, head_dim;
  float rope_theta, norm_eps;
  uint32_t shared_classifier, rope_type;
  float rope_factor, low_freq_factor, high_freq_factor, rope_attn_factor;
  uint32_t rope_orig_max_seq, qkv_bias, qk_norm, sliding_window;
  float rope_local_theta;
  uint32_t act, post_norms;
  float embed_scale, attn_scale, attn_softcap, final_softcap;
  uint32_t rot_dim, attn_gate, lin_k_heads, lin_v_heads, lin_k_dim, lin_v_dim, lin_conv, rope_layout;
  uint8_t zero[372];
  uint8_t layer_flags[512];
};

/* A record of the directory; load() makes the offsets pointers. */
struct tensor {
  union {
    uint64_t offset;
    const uint8_t *at;
  } data, scales;
  uint64_t n_data_bytes, n_scale_bytes;
  uint32_t dims[4];
  uint32_t encoding;
  uint32_t zero[3];
};

struct tokenizer {
  uint32_t kind, n_vocab, n_merges;
  int32_t bos, eos;
  uint32_t flags, n_text, zero;
  /* u32 starts[n_vocab + 1], u8 attrs[], u32 sorted[n_vocab], u32 merges[n_merges][4], the text */
};

struct model {
  uint8_t *file;
  struct preamble preamble;
  struct config config;
  const struct tokenizer *tokenizer; /* null: none */
  struct tensor *tensors;
};

static const char *const layer_slots[26] = {
    "attn_norm", "q_proj", "k_proj", "v_proj", "o_proj", "gate_attn", "q_bias", "k_bias", "v_bias",
    "q_norm", "k_norm", "ffn_norm", "gate_proj", "up_proj", "down_proj", "post_attn_norm", "post_ffn_norm",
    "lin_qkv", "lin_z", "lin_b", "lin_a", "lin_conv", "lin_dt_bias", "lin_a_log", "lin_norm", "lin_out"};

static int load(struct model *model, const char *path) {
  long size;
  uint32_t i;
  FILE *stream = fopen(path, "rb");
  if (stream == NULL) return 0;
  if (fseek(stream, 0, SEEK_END) != 0 || (size = ftell(stream)) < 1088 || fseek(stream, 0, SEEK_SET) != 0) {
    fclose(stream);
    return 0;
  }
  model->file = malloc((size_t)size);
  if (model->file == NULL || fread(model->file, 1, (size_t)size, stream) != (size_t)size) {
    fclose(stream);
    return 0;
  }
  fclose(stream);
  memcpy(&model->preamble, model->file, sizeof model->preamble);
  if (memcmp(model->preamble.magic, "MOG", 4) != 0 || model->preamble.version != 3) return 0;
  memcpy(&model->config, model->file + 64, sizeof model->config);
  model->tokenizer = NULL;
  if (model->preamble.tokenizer_offset != 0)
    model->tokenizer = (const struct tokenizer *)(const void *)(model->file + model->preamble.tokenizer_offset);
  model->tensors = malloc(model->preamble.n_records * sizeof *model->tensors);
  if (model->tensors == NULL) return 0;
  memcpy(model->tensors, model->file + model->preamble.directory_offset,
         model->preamble.n_records * sizeof *model->tensors);
  for (i = 0; i < model->preamble.n_records; ++i) {
    struct tensor *tensor = &model->tensors[i];
    tensor->data.at = tensor->data.offset != 0 ? model->file + tensor->data.offset : NULL;
    tensor->scales.at = tensor->scales.offset != 0 ? model->file + tensor->scales.offset : NULL;
  }
  return 1;
}

static void print_slot(const struct model *model, uint32_t i) {
  const uint32_t n = model->preamble.n_records;
  if (i == 0) {
    printf("embed");
  } else if (i + 2 == n) {
    printf("norm");
  } else if (i + 1 == n) {
    printf("lm_head");
  } else {
    printf("layers.%u.%s", (i - 1) / 26, layer_slots[(i - 1) % 26]);
  }
}

static uint64_t sum(const uint8_t *at, uint64_t n) {
  uint64_t total = 0, i;
  for (i = 0; i < n; ++i) total += at[i];
  return total;
}

static void print_tensors(const struct model *model) {
  uint32_t i;
  for (i = 0; i < model->preamble.n_records; ++i) {
    const struct tensor *tensor = &model->tensors[i];
    if (tensor->data.at == NULL) continue;
    print_slot(model, i);
    printf(" %u %u %u %llu %llu %llu %llu %llu\n", tensor->encoding, tensor->dims[0], tensor->dims[1],
           (unsigned long long)(tensor->data.at - model->file), (unsigned long long)tensor->n_data_bytes,
           (unsigned long long)(tensor->scales.at != NULL ? tensor->scales.at - model->file : 0),
           (unsigned long long)tensor->n_scale_bytes,
           (unsigned long long)(sum(tensor->data.at, tensor->n_data_bytes) +
                                (tensor->scales.at != NULL ? sum(tensor->scales.at, tensor->n_scale_bytes) : 0)));
  }
}

static void print_token(const struct tokenizer *tokenizer, uint32_t id) {
  const uint32_t n = tokenizer->n_vocab;
  const uint8_t *starts = (const uint8_t *)(tokenizer + 1);
  const uint8_t *text = starts + 4 * ((uint64_t)n + 1) + ((uint64_t)n + 3) / 4 * 4 + 4 * (uint64_t)n +
                        16 * (uint64_t)tokenizer->n_merges;
  uint32_t bounds[2];
  memcpy(bounds, starts + 4 * (uint64_t)id, sizeof bounds);
  fwrite(text + bounds[0], 1, bounds[1] - bounds[0], stdout);
}

int main(int argc, char **argv) {
  struct model model = {0};
  int i;
  if (argc < 2 || !load(&model, argv[1])) {
    fprintf(stderr, "usage: mog_consumer FILE.mog [ID...]\n");
    return 1;
  }
  if (argc > 2) {
    for (i = 2; i < argc && model.tokenizer != NULL; ++i) print_token(model.tokenizer, (uint32_t)atoi(argv[i]));
  } else {
    printf("architecture %u, %u layers of %u, layout %u\n", model.preamble.architecture, model.config.n_layers,
           model.config.dim, model.config.rope_layout);
    print_tensors(&model);
  }
  free(model.tensors);
  free(model.file);
  return 0;
}
