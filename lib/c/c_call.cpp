#include "c/c_call.hpp"

#include <ml/version.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

// Storage of a fixed size: telling that memory is exhausted takes none.
thread_local std::array<char, 4096> last_message;

void keep_message(std::string_view text) {
  const std::size_t n = std::min(text.size(), last_message.size() - 1);
  std::memcpy(last_message.data(), text.data(), n);
  last_message[n] = '\0';
}

ml_status to_c(ml::Status status) { return static_cast<ml_status>(status) + 1; }
static_assert(static_cast<ml_status>(ml::Status::io) + 1 == ML_E_IO);
static_assert(static_cast<ml_status>(ml::Status::arg) + 1 == ML_E_ARG);

}  // namespace

namespace ml::c {

ml_status fail(const Error& error) noexcept {
  try {
    keep_message(describe(error));
  } catch (const std::exception&) {
    keep_message("out of memory (ML_E_NOMEM)");
  }
  return to_c(error.status);
}

ml_status fail(const std::exception& exception) noexcept {
  std::snprintf(last_message.data(), last_message.size(), "%s (ML_E_NOMEM)", exception.what());
  return ML_E_NOMEM;
}

Result<void> check_pointers(std::initializer_list<const void*> pointers) {
  const auto null = std::find(pointers.begin(), pointers.end(), nullptr);
  if (null == pointers.end()) return {};
  return Error{.status = Status::arg, .message = "a pointer is NULL, must not be"};
}

Result<void> check_array(const void* array, std::size_t size) {
  if (array != nullptr || size == 0) return {};
  return Error{.status = Status::arg, .message = fmt::format("an array of {} is NULL", size)};
}

Result<void> check_capacity(std::size_t capacity, std::size_t needed) {
  if (capacity == 0 || capacity >= needed) return {};
  return Error{.status = Status::limit,
               .message = fmt::format("the buffer holds {} elements, must hold {}", capacity, needed)};
}

}  // namespace ml::c

extern "C" {

const char* ml_version(void) { return ml::version(); }
uint32_t ml_c_version(void) { return ML_C_VERSION; }

const char* ml_status_name(ml_status status) {
  if (status == ML_OK) return "ML_OK";
  if (status < ML_E_IO || status > ML_E_ARG) return nullptr;
  return ml::status_name(static_cast<ml::Status>(status - 1)).data();  // literals
}

const char* ml_message(void) { return last_message.data(); }

}  // extern "C"
