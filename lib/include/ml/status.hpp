#pragma once

#include <ml/export.hpp>

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ml {

/// What kind of failure an Error is. `io`, `format` and `shape` are those of mlb(5), VALIDATION.
enum class Status : std::uint8_t {
  io,           ///< cannot open, read, write; Error::os_errno says why
  format,       ///< bytes break the format
  shape,        ///< a dimension is zero, too large, or does not divide as it must
  unsupported,  ///< valid, but this version cannot do it
  limit,        ///< valid, but beyond a limit that the caller or the machine sets
  nomem,        ///< memory could not be allocated
  arg,          ///< the caller passed something unusable
};

/// @return the status as users see it: "ML_E_IO", "ML_E_FORMAT", ...
ML_API std::string_view status_name(Status status);

/// One failure: what is wrong (field, value, rule), in which file, and where.
struct Error {
  Status status = Status::format;
  std::string message;                       ///< "head_dim is 65, must be even"
  std::string path = {};                     ///< the file, empty when not known yet
  std::optional<std::uint64_t> offset = {};  ///< the first wrong byte of that file
  std::string tensor = {};                   ///< the tensor, when that says more than an offset
  int os_errno = 0;                          ///< errno of the failed call, 0 when there was none
};

/// Text from a file or the name of one, fit for a terminal: control characters and bytes that are no UTF-8
/// become \xNN, C1 controls \u00NN.
ML_API std::string printable(std::string_view text);

/// @return one printable line: "model.mlb: head_dim is 65, must be even (ML_E_SHAPE, offset 80)"
ML_API std::string describe(const Error& error);

/// @return the same error with its path filled in, unless it already names one
ML_API Error with_path(Error error, std::string_view path);

/// A value or an Error. Test it, then dereference it or take error().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T& value() {
    assert(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    assert(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  Error& error() {
    assert(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }
  const Error& error() const {
    assert(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace ml
