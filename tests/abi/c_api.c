/* Every function of ml/ml.h, what it computes and what it refuses. C99, and C++ through c_api_as_cpp.cpp.
 * Usage: c_api MODEL-FOLDER; reports as TAP. */

#include <ml/ml.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int n_checks = 0;
static int n_failed = 0;

static void check(int holds, const char* what, int line) {
  ++n_checks;
  if (holds) return;
  ++n_failed;
  printf("# line %d: %s; the last message is \"%s\"\n", line, what, ml_message());
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)
/* A call fails with a status and a message that holds a text. */
#define REFUSED(status, text, call)                           \
  do {                                                        \
    CHECK((call) == (status));                                \
    CHECK(strstr(ml_message(), (text)) != NULL);              \
    CHECK(strstr(ml_message(), ml_status_name(status)) != 0); \
  } while (0)

static void section(const char* name) {
  static int number = 0;
  static int failed_before = 0;
  printf("%s %d - %s\n", n_failed == failed_before ? "ok" : "not ok", ++number, name);
  failed_before = n_failed;
}

static void test_versions(void) {
  CHECK(strchr(ml_version(), '.') != NULL);
  CHECK(ml_c_version() == ML_C_VERSION);
  CHECK(strcmp(ml_status_name(ML_OK), "ML_OK") == 0);
  CHECK(strcmp(ml_status_name(ML_E_IO), "ML_E_IO") == 0);
  CHECK(strcmp(ml_status_name(ML_E_LIMIT), "ML_E_LIMIT") == 0);
  CHECK(strcmp(ml_status_name(ML_E_ARG), "ML_E_ARG") == 0);
  CHECK(ml_status_name(-1) == NULL);
  CHECK(ml_status_name(ML_E_ARG + 1) == NULL);
  CHECK(strcmp(ml_message(), "") == 0);
  section("versions and statuses");
}

static void test_null(const ml_model* model) {
  const char* text = NULL;
  size_t n = 0;
  float logit = 0;
  uint32_t id = 1;
  ml_model* no_model = NULL;
  ml_tokenizer* no_tokenizer = NULL;
  ml_decoder* no_decoder = NULL;
  ml_session* no_session = NULL;
  ml_sampler* no_sampler = NULL;
  REFUSED(ML_E_ARG, "NULL", ml_model_open(NULL, &no_model));
  REFUSED(ML_E_ARG, "NULL", ml_model_open("x", NULL));
  REFUSED(ML_E_ARG, "NULL", ml_tokenizer_open(NULL, &no_tokenizer));
  REFUSED(ML_E_ARG, "NULL", ml_tokenizer_of_model(NULL, &no_tokenizer));
  REFUSED(ML_E_ARG, "NULL", ml_encode(NULL, "x", 1, NULL, NULL, 0, &n));
  REFUSED(ML_E_ARG, "NULL", ml_decode(NULL, &id, 1, NULL, 0, &n));
  REFUSED(ML_E_ARG, "NULL", ml_decoder_new(NULL, &no_decoder));
  REFUSED(ML_E_ARG, "NULL", ml_decoder_push(NULL, &id, 1, &text, &n));
  REFUSED(ML_E_ARG, "NULL", ml_decoder_finish(NULL, &text, &n));
  REFUSED(ML_E_ARG, "NULL", ml_session_new(NULL, NULL, &no_session));
  REFUSED(ML_E_ARG, "NULL", ml_session_new(model, NULL, NULL));
  REFUSED(ML_E_ARG, "NULL", ml_session_eval(NULL, &id, 1));
  REFUSED(ML_E_ARG, "NULL", ml_session_eval_all(NULL, &id, 1, &logit));
  REFUSED(ML_E_ARG, "NULL", ml_session_reset(NULL));
  REFUSED(ML_E_ARG, "NULL", ml_sampler_new(NULL, NULL));
  REFUSED(ML_E_ARG, "NULL", ml_sampler_accept(NULL, &id, 1));
  REFUSED(ML_E_ARG, "NULL", ml_sampler_sample(NULL, &logit, 1, &id));
  CHECK(no_model == NULL && no_tokenizer == NULL && no_decoder == NULL);
  CHECK(no_session == NULL && no_sampler == NULL);
  CHECK(ml_model_vocab(NULL) == 0 && ml_model_max_seq(NULL) == 0 && ml_model_n_layers(NULL) == 0);
  CHECK(ml_model_n_weights(NULL) == 0 && ml_model_n_bytes(NULL) == 0 && ml_model_ends(NULL, 2) == 0);
  CHECK(ml_tokenizer_n_vocab(NULL) == 0 && ml_tokenizer_bos(NULL) == ML_NO_TOKEN);
  CHECK(ml_tokenizer_eos(NULL) == ML_NO_TOKEN);
  CHECK(ml_session_logits(NULL) == NULL && ml_session_position(NULL) == 0 && ml_session_ctx(NULL) == 0);
  ml_model_free(NULL);
  ml_tokenizer_free(NULL);
  ml_decoder_free(NULL);
  ml_session_free(NULL);
  ml_sampler_free(NULL);
  section("NULL is refused, and freed");
}

static void test_model(const ml_model* model, const char* folder) {
  ml_model* none = NULL;
  char path[4096];
  CHECK(ml_model_vocab(model) == 512);
  CHECK(ml_model_max_seq(model) == 512);
  CHECK(ml_model_n_layers(model) == 5);
  CHECK(ml_model_n_bytes(model) == 4 * ml_model_n_weights(model));
  CHECK(ml_model_ends(model, 2));
  CHECK(!ml_model_ends(model, 3));
  REFUSED(ML_E_IO, "/nowhere", ml_model_open("/nowhere", &none));
  snprintf(path, sizeof path, "%s/tokenizer.json", folder);
  REFUSED(ML_E_UNSUPPORTED, path, ml_model_open(path, &none));
  CHECK(none == NULL);
  section("models");
}

static void test_tokenizer(const ml_tokenizer* tokenizer, const char* folder) {
  const char* text = "Once upon a time";
  uint32_t ids[8] = {9, 9, 9, 9, 9, 9, 9, 9};
  char back[64];
  size_t n = 0;
  ml_tokenizer* other = NULL;
  CHECK(ml_tokenizer_n_vocab(tokenizer) == 512);
  CHECK(ml_tokenizer_bos(tokenizer) == 1);
  CHECK(ml_tokenizer_eos(tokenizer) == 2);
  CHECK(ml_encode(tokenizer, text, strlen(text), NULL, NULL, 0, &n) == ML_OK && n == 5);
  n = 0;
  REFUSED(ML_E_LIMIT, "must hold 5", ml_encode(tokenizer, text, strlen(text), NULL, ids, 4, &n));
  CHECK(n == 5 && ids[0] == 9);
  CHECK(ml_encode(tokenizer, text, strlen(text), NULL, ids, 5, &n) == ML_OK && n == 5);
  CHECK(ids[0] == 1 && ids[1] == 403 && ids[2] == 407 && ids[3] == 261 && ids[4] == 378 && ids[5] == 9);
  CHECK(ml_encode(tokenizer, text, strlen(text), "bos=0", ids, 8, &n) == ML_OK && n == 4 && ids[0] == 403);
  CHECK(ml_encode(tokenizer, NULL, 0, "added=0,bos=1", ids, 8, &n) == ML_OK && n == 1 && ids[0] == 1);
  REFUSED(ML_E_ARG, "bos is yes", ml_encode(tokenizer, text, 4, "bos=yes", ids, 8, &n));
  REFUSED(ML_E_ARG, "NULL", ml_encode(tokenizer, NULL, 4, NULL, ids, 8, &n));
  REFUSED(ML_E_ARG, "NULL", ml_encode(tokenizer, text, 4, NULL, NULL, 8, &n));
  CHECK(ml_encode(tokenizer, text, strlen(text), NULL, ids, 8, &n) == ML_OK);
  CHECK(ml_decode(tokenizer, ids, n, NULL, 0, &n) == ML_OK);
  REFUSED(ML_E_LIMIT, "buffer", ml_decode(tokenizer, ids, 5, back, 3, &n));
  CHECK(ml_decode(tokenizer, ids, 5, back, sizeof back, &n) == ML_OK);
  CHECK(n >= strlen(text) && memcmp(back + n - strlen(text), text, strlen(text)) == 0);
  CHECK(ml_tokenizer_open(folder, &other) == ML_OK);
  CHECK(ml_tokenizer_n_vocab(other) == 512);
  ml_tokenizer_free(other);
  other = NULL;
  REFUSED(ML_E_IO, "/nowhere", ml_tokenizer_open("/nowhere", &other));
  CHECK(other == NULL);
  section("tokenizers");
}

/* "\xc3\xa9", the letter e with an acute accent, is two bytes and two tokens here. */
static void test_decoder(ml_tokenizer* tokenizer) {
  const char* text = "caf\xc3\xa9 au lait";
  const char* piece = NULL;
  char streamed[64] = "", whole[64] = "";
  uint32_t ids[32];
  size_t n_ids = 0, n = 0, i;
  ml_decoder* decoder = NULL;
  CHECK(ml_encode(tokenizer, text, strlen(text), "bos=0", ids, 32, &n_ids) == ML_OK);
  CHECK(ml_decode(tokenizer, ids, n_ids, whole, sizeof whole - 1, &n) == ML_OK);
  CHECK(ml_decoder_new(tokenizer, &decoder) == ML_OK);
  for (i = 0; i < n_ids; ++i) {
    CHECK(ml_decoder_push(decoder, ids + i, 1, &piece, &n) == ML_OK && strlen(piece) == n);
    CHECK(n == 0 || piece[n - 1] != '\xc3');
    strcat(streamed, piece);
  }
  CHECK(ml_decoder_finish(decoder, &piece, NULL) == ML_OK);
  strcat(streamed, piece);
  CHECK(strcmp(streamed, whole) == 0);
  CHECK(ml_decoder_push(decoder, NULL, 0, &piece, NULL) == ML_OK && *piece == '\0');
  REFUSED(ML_E_ARG, "NULL", ml_decoder_push(decoder, NULL, 2, &piece, NULL));
  ml_decoder_free(decoder);
  section("decoders");
}

static void test_session(const ml_model* model) {
  const uint32_t ids[5] = {1, 403, 407, 261, 378};
  const uint32_t too_large = 512;
  const size_t row = 512 * sizeof(float);
  float* all = (float*)malloc(5 * row);
  float* last = (float*)malloc(row);
  ml_session *session = NULL, *other = NULL;
  CHECK(ml_session_new(model, NULL, &session) == ML_OK);
  CHECK(ml_session_ctx(session) == 512 && ml_session_position(session) == 0);
  CHECK(ml_session_logits(session) == NULL);
  CHECK(ml_session_eval(session, ids, 5) == ML_OK && ml_session_position(session) == 5);
  memcpy(last, ml_session_logits(session), row);
  REFUSED(ML_E_ARG, "512", ml_session_eval(session, &too_large, 1));
  REFUSED(ML_E_ARG, "", ml_session_eval(session, ids, 0));
  CHECK(ml_session_position(session) == 5 && memcmp(last, ml_session_logits(session), row) == 0);
  CHECK(ml_session_new(model, "batch=2, threads=1 target=scalar\tctx=6", &other) == ML_OK);
  CHECK(ml_session_ctx(other) == 6);
  CHECK(ml_session_eval_all(other, ids, 5, all) == ML_OK);
  CHECK(memcmp(all + (size_t)4 * 512, last, row) == 0 && memcmp(ml_session_logits(other), last, row) == 0);
  REFUSED(ML_E_LIMIT, "", ml_session_eval(other, ids, 2));
  CHECK(ml_session_reset(other) == ML_OK && ml_session_position(other) == 0);
  CHECK(ml_session_logits(other) == NULL);
  CHECK(ml_session_eval(other, ids, 1) == ML_OK && memcmp(ml_session_logits(other), all, row) == 0);
  ml_session_free(other);
  other = NULL;
  CHECK(ml_session_new(model, "kv=q8 acts=f32", &other) == ML_OK);
  CHECK(ml_session_eval(other, ids, 5) == ML_OK && memcmp(ml_session_logits(other), last, row) != 0);
  ml_session_free(other);
  other = NULL;
  REFUSED(ML_E_ARG, "kv is f64", ml_session_new(model, "kv=f64", &other));
  REFUSED(ML_E_ARG, "acts is q4", ml_session_new(model, "acts=q4", &other));
  REFUSED(ML_E_ARG, "abacus", ml_session_new(model, "target=abacus", &other));
  REFUSED(ML_E_ARG, "ctx is 12x, must be a number", ml_session_new(model, "ctx=12x", &other));
  REFUSED(ML_E_ARG, "must be a number that its type holds", ml_session_new(model, "batch=99999999999", &other));
  REFUSED(ML_E_ARG, "option speed=9 is unknown", ml_session_new(model, "ctx=8 speed=9", &other));
  REFUSED(ML_E_ARG, "option ctx is unknown, must be KEY=VALUE", ml_session_new(model, "ctx", &other));
  REFUSED(ML_E_LIMIT, "513", ml_session_new(model, "ctx=513", &other));
  CHECK(other == NULL);
  ml_session_free(session);
  free(last);
  free(all);
  section("sessions");
}

static void test_sampler(void) {
  float logits[4] = {1, 3, 2, 3};
  const uint32_t seen[1] = {1};
  uint32_t id = 9, again = 9;
  ml_sampler *greedy = NULL, *drawing = NULL, *same = NULL;
  int i;
  CHECK(ml_sampler_new(NULL, &greedy) == ML_OK);
  CHECK(ml_sampler_sample(greedy, logits, 4, &id) == ML_OK && id == 1);
  CHECK(ml_sampler_new("temp=0.8 top_k=3 top_p=0.9 min_p=0.01 seed=7", &drawing) == ML_OK);
  CHECK(ml_sampler_new("seed=7,min_p=0.01,top_p=0.9,top_k=3,temp=0.8", &same) == ML_OK);
  for (i = 0; i < 20; ++i) {
    CHECK(ml_sampler_sample(drawing, logits, 4, &id) == ML_OK && id != 0);
    CHECK(ml_sampler_sample(same, logits, 4, &again) == ML_OK && again == id);
  }
  logits[1] = -INFINITY;
  for (i = 0; i < 20; ++i) CHECK(ml_sampler_sample(drawing, logits, 4, &id) == ML_OK && id != 1);
  ml_sampler_free(drawing);
  ml_sampler_free(same);
  drawing = NULL;
  logits[1] = NAN;
  id = 9;
  REFUSED(ML_E_ARG, "logit 1 is NaN", ml_sampler_sample(greedy, logits, 4, &id));
  logits[1] = INFINITY;
  REFUSED(ML_E_ARG, "logit 1 is infinity", ml_sampler_sample(greedy, logits, 4, &id));
  logits[1] = -INFINITY;
  REFUSED(ML_E_ARG, "none of 1 logits", ml_sampler_sample(greedy, logits + 1, 1, &id));
  REFUSED(ML_E_ARG, "none of 0 logits", ml_sampler_sample(greedy, logits, 0, &id));
  CHECK(id == 9);
  ml_sampler_free(greedy);
  CHECK(ml_sampler_new("repeat_penalty=2 repeat_last=1", &drawing) == ML_OK);
  logits[1] = 3.5F;
  CHECK(ml_sampler_accept(drawing, seen, 1) == ML_OK);
  CHECK(ml_sampler_sample(drawing, logits, 4, &id) == ML_OK && id == 3);
  ml_sampler_free(drawing);
  drawing = NULL;
  REFUSED(ML_E_ARG, "temperature", ml_sampler_new("temp=-1", &drawing));
  REFUSED(ML_E_ARG, "temp is warm", ml_sampler_new("temp=warm", &drawing));
  CHECK(drawing == NULL);
  section("samplers");
}

/* Handles keep alive what they use. */
static void test_order(const char* folder) {
  const uint32_t id = 1;
  const char* piece = NULL;
  ml_model* model = NULL;
  ml_tokenizer* tokenizer = NULL;
  ml_decoder* decoder = NULL;
  ml_session* session = NULL;
  CHECK(ml_model_open(folder, &model) == ML_OK && ml_tokenizer_of_model(model, &tokenizer) == ML_OK);
  CHECK(ml_session_new(model, NULL, &session) == ML_OK && ml_decoder_new(tokenizer, &decoder) == ML_OK);
  ml_model_free(model);
  ml_tokenizer_free(tokenizer);
  CHECK(ml_session_eval(session, &id, 1) == ML_OK && ml_decoder_push(decoder, &id, 1, &piece, NULL) == ML_OK);
  ml_decoder_free(decoder);
  ml_session_free(session);
  section("handles are freed in any order");
}

/* As a daemon does that works in "/" once it has opened what it needs. */
static void test_working_directory(const char* folder) {
  char before[4096];
  ml_model* model = NULL;
  ml_tokenizer* tokenizer = NULL;
  CHECK(getcwd(before, sizeof(before)) != NULL && chdir(folder) == 0);
  CHECK(ml_model_open(".", &model) == ML_OK);
  CHECK(chdir("/") == 0);
  CHECK(ml_tokenizer_of_model(model, &tokenizer) == ML_OK);
  CHECK(chdir(before) == 0);
  ml_tokenizer_free(tokenizer);
  ml_model_free(model);
  section("a model's tokenizer is found from another working directory");
}

int main(int argc, char** argv) {
  ml_model* model = NULL;
  ml_tokenizer* tokenizer = NULL;
  if (argc != 2) return 2;
  test_versions();
  CHECK(ml_model_open(argv[1], &model) == ML_OK);
  CHECK(ml_tokenizer_of_model(model, &tokenizer) == ML_OK);
  section("a model and its tokenizer open");
  test_null(model);
  test_model(model, argv[1]);
  test_tokenizer(tokenizer, argv[1]);
  test_decoder(tokenizer);
  test_session(model);
  test_sampler();
  test_order(argv[1]);
  test_working_directory(argv[1]);
  ml_tokenizer_free(tokenizer);
  ml_model_free(model);
  printf("# %d checks\n1..10\n", n_checks);
  return n_failed != 0;
}
