#include "c/c_call.hpp"
#include "c/c_handles.hpp"
#include "c/c_options.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <cmath>

namespace {

// The sampler takes NaN for the smallest logit; here nobody looked before.
ml::Result<void> check_logits(std::span<const float> logits) {
  bool any = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == INFINITY) {
      return ml::Error{.status = ml::Status::arg,
                       .message = fmt::format("logit {} is {}, must be finite or -infinity", i,
                                              std::isnan(logits[i]) ? "NaN" : "infinity")};
    }
    any = any || std::isfinite(logits[i]);
  }
  if (any) return {};
  return ml::Error{.status = ml::Status::arg,
                   .message = fmt::format("none of {} logits is finite", logits.size())};
}

}  // namespace

extern "C" {

ml_status ml_sampler_new(const char* options, ml_sampler** sampler) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({sampler}));
    ml::SamplingOptions chosen;
    const ml::c::TextOption known[] = {
        ml::c::number_option("temp", chosen.temperature),
        ml::c::number_option("top_k", chosen.top_k),
        ml::c::number_option("top_p", chosen.top_p),
        ml::c::number_option("min_p", chosen.min_p),
        ml::c::number_option("repeat_penalty", chosen.repeat_penalty),
        ml::c::number_option("repeat_last", chosen.repeat_last),
        ml::c::number_option("seed", chosen.seed),
    };
    ML_CHECK(ml::c::read_options(options, known));
    ML_TRY(ml::Sampler created, ml::Sampler::create(chosen));
    *sampler = new ml_sampler{std::move(created)};
    return {};
  });
}

void ml_sampler_free(ml_sampler* sampler) { delete sampler; }

ml_status ml_sampler_accept(ml_sampler* sampler, const uint32_t* ids, size_t n_ids) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({sampler}));
    ML_CHECK(ml::c::check_array(ids, n_ids));
    for (const std::uint32_t id : std::span(ids, n_ids)) sampler->sampler.accept(id);
    return {};
  });
}

ml_status ml_sampler_sample(ml_sampler* sampler, const float* logits, size_t n_logits, uint32_t* id) {
  return ml::c::call([&]() -> ml::Result<void> {
    ML_CHECK(ml::c::check_pointers({sampler, logits, id}));
    ML_CHECK(check_logits({logits, n_logits}));
    *id = sampler->sampler.sample({logits, n_logits});
    return {};
  });
}

}  // extern "C"
