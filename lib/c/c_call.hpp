#pragma once

#include <ml/ml.h>
#include <ml/status.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <string_view>

namespace ml::c {

/// Keeps what ml_message() tells.
/// @return  the status as C has it
ml_status fail(const Error& error) noexcept;
/// The same of what was thrown. Takes no memory.
ml_status fail(const std::exception& exception) noexcept;

/// The body of a C function: no exception leaves it. Those that can come (no memory, no thread, more elements
/// than a vector holds) all say that the machine has no more.
///
/// @param body  returns Result<void>
template <class Body>
ml_status call(const Body& body) noexcept {
  try {
    const Result<void> done = body();
    return done ? ML_OK : fail(done.error());
  } catch (const std::exception& exception) {
    return fail(exception);
  }
}

/// @error arg  one of the pointers is null
Result<void> check_pointers(std::initializer_list<const void*> pointers);

/// @error arg  a null array that is not empty
Result<void> check_array(const void* array, std::size_t size);

/// @error limit  the caller's buffer is smaller, but not 0
Result<void> check_capacity(std::size_t capacity, std::size_t needed);

/// Hands elements to the caller as ml/ml.h says of ml_encode().
template <class Source, class Element>
Result<void> copy_out(const Source& source, Element* out, std::size_t capacity, std::size_t& size) {
  size = source.size();
  if (auto fits = check_capacity(capacity, size); !fits) return fits;
  if (capacity != 0) std::copy(source.begin(), source.end(), out);
  return {};
}

}  // namespace ml::c
