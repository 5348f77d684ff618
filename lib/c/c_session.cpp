#include "c/c_call.hpp"
#include "c/c_handles.hpp"
#include "c/c_options.hpp"
#include "util/try.hpp"

namespace {

ml::Result<void> set_kv(std::string_view value, ml::SessionOptions& options) {
  options.kv = ml::find_kv_type(value);
  if (options.kv) return {};
  return ml::c::bad_value("kv", value, "f32, f16, q8, bf16, fp8 or fp4");
}

ml::Result<void> set_activations(std::string_view value, ml::SessionOptions& options) {
  if (value != "q8" && value != "f32") return ml::c::bad_value("acts", value, "q8 or f32");
  options.activations = value == "q8" ? ml::Activations::q8 : ml::Activations::f32;
  return {};
}

ml::Result<ml::SessionOptions> read_session_options(const char* text) {
  ml::SessionOptions options;
  std::string target;
  const ml::c::TextOption known[] = {
      ml::c::number_option("ctx", options.ctx),
      ml::c::number_option("batch", options.batch),
      ml::c::number_option("threads", options.threads),
      {"kv", [&](std::string_view value) { return set_kv(value, options); }},
      {"acts", [&](std::string_view value) { return set_activations(value, options); }},
      {"target",
       [&](std::string_view value) {
         target = value;
         return ml::Result<void>();
       }},
  };
  ML_CHECK(ml::c::read_options(text, known));
  ML_TRY(options.target, ml::resolve_target(target));
  return options;
}

}  // namespace

extern "C" {

ml_status ml_session_new(const ml_model* model, const char* options, ml_session** session) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({model, session}));
    ML_TRY(const ml::SessionOptions chosen, read_session_options(options));
    ML_TRY(ml::Session created, ml::Session::create(*model->model, chosen));
    *session = new ml_session{model->model, std::move(created), {}};
    return {};
  });
}

void ml_session_free(ml_session* session) { delete session; }

ml_status ml_session_eval(ml_session* session, const uint32_t* ids, size_t n_ids) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({session}));
    ML_CHECK(ml::c::check_array(ids, n_ids));
    ML_TRY(session->logits, session->session.eval({ids, n_ids}));
    return {};
  });
}

ml_status ml_session_eval_all(ml_session* session, const uint32_t* ids, size_t n_ids, float* logits) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({session, logits}));
    ML_CHECK(ml::c::check_array(ids, n_ids));
    return session->session.eval({ids, n_ids}, [&](std::uint32_t, std::span<const float> row) {
      logits = std::copy(row.begin(), row.end(), logits);
      session->logits = row;
    });
  });
}

const float* ml_session_logits(const ml_session* session) {
  return session == nullptr ? nullptr : session->logits.data();
}

uint32_t ml_session_position(const ml_session* session) {
  return session == nullptr ? 0 : session->session.position();
}

uint32_t ml_session_ctx(const ml_session* session) { return session == nullptr ? 0 : session->session.ctx(); }

ml_status ml_session_reset(ml_session* session) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({session}));
    session->session.reset();
    session->logits = {};
    return {};
  });
}

}  // extern "C"
