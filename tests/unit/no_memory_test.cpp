#include "catch.hpp"
#include "data.hpp"

#include <ml/ml.h>

#include "c/c_call.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

// What this program allocates with `new` fails where a test says so, on all threads.
namespace {

enum class Fail { never, once, from_then_on };
std::atomic<Fail> fail{Fail::never};
std::atomic<std::int64_t> n_left{0};  // allocations that go well before

bool fails() {
  const Fail how = fail.load();
  if (how == Fail::never) return false;
  const std::int64_t left = n_left.fetch_sub(1);
  return how == Fail::once ? left == 0 : left <= 0;
}

}  // namespace

void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : std::malloc(n == 0 ? 1 : n);
}
void* operator new(std::size_t n) {
  void* memory = operator new(n, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

// Runs a call with each of its allocations failing in turn; afterwards(ok) looks at what is left.
// @return  failed calls
int fail_each(Fail how, const std::function<ml_status()>& call,
              const std::function<void(bool ok)>& afterwards) {
  int n_failed = 0;
  for (std::int64_t n = 0; n < 100000; ++n) {
    n_left = n;
    fail = how;
    const ml_status status = call();
    fail = Fail::never;
    const bool reached = n_left < 0;
    if (status != ML_OK) {
      ++n_failed;
      CHECK(status == ML_E_NOMEM);
      CHECK(std::string(ml_message()).find("ML_E_NOMEM") != std::string::npos);
    }
    afterwards(status == ML_OK);
    if (!reached) return n_failed;
  }
  FAIL("the call allocates without end");
  return n_failed;
}

std::vector<float> logits_of(ml_session* session, ml_model* model) {
  const float* logits = ml_session_logits(session);
  return {logits, logits + ml_model_vocab(model)};
}

}  // namespace

TEST_CASE("memory that ends in a model with experts is an error, and a reset session is sound", "[memory]") {
  const std::string path = data_path("mova/mova");
  const std::vector<std::uint32_t> ids(24, 3);
  ml_model* model = nullptr;
  REQUIRE(ml_model_open(path.c_str(), &model) == ML_OK);
  for (const Fail how : {Fail::once, Fail::from_then_on}) {
    CAPTURE(static_cast<int>(how));
    ml_session* session = nullptr;
    CHECK(fail_each(
              how, [&] { return ml_session_new(model, "ctx=32 threads=4", &session); },
              [&](bool ok) {
                if (ok) ml_session_free(session);
              }) > 0);

    REQUIRE(ml_session_new(model, "ctx=32 threads=4", &session) == ML_OK);
    REQUIRE(ml_session_eval(session, ids.data(), ids.size()) == ML_OK);
    const std::vector<float> expected = logits_of(session, model);
    ml_session_reset(session);
    int n_wrong = 0;
    CHECK(fail_each(
              how, [&] { return ml_session_eval(session, ids.data(), ids.size()); },
              [&](bool ok) {
                if (ok) n_wrong += logits_of(session, model) != expected;
                ml_session_reset(session);
              }) > 0);
    CHECK(n_wrong == 0);
    REQUIRE(ml_session_eval(session, ids.data(), ids.size()) == ML_OK);
    CHECK(logits_of(session, model) == expected);
    ml_session_free(session);
  }
  ml_model_free(model);
}

TEST_CASE("a sampler is sound after memory ended in it", "[memory]") {
  const std::vector<float> logits{3, 2, 1, 0};
  for (const Fail how : {Fail::once, Fail::from_then_on}) {
    ml_sampler* sampler = nullptr;
    CHECK(fail_each(
              how, [&] { return ml_sampler_new("repeat_penalty=4 repeat_last=2", &sampler); },
              [&](bool ok) {
                if (ok) ml_sampler_free(sampler);
              }) > 0);
    REQUIRE(ml_sampler_new("repeat_penalty=4 repeat_last=2", &sampler) == ML_OK);
    const std::uint32_t said[] = {0};
    CHECK(fail_each(
              how, [&] { return ml_sampler_accept(sampler, said, 1); }, [](bool) {}) > 0);
    const std::uint32_t last[] = {1, 2};
    REQUIRE(ml_sampler_accept(sampler, last, 2) == ML_OK);
    std::uint32_t id = 9;
    REQUIRE(ml_sampler_sample(sampler, logits.data(), logits.size(), &id) == ML_OK);
    CHECK(id == 0);
    ml_sampler_free(sampler);
  }
}

TEST_CASE("telling what was thrown takes no memory", "[memory]") {
  const std::length_error error("a text of an exception that is longer than what a string holds in itself");
  n_left = 0;
  fail = Fail::from_then_on;
  const ml_status status = ml::c::call([&]() -> ml::Result<void> { throw error; });
  fail = Fail::never;
  CHECK(status == ML_E_NOMEM);
  CHECK(ml_message() == std::string(error.what()) + " (ML_E_NOMEM)");
}
