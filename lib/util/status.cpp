#include <ml/status.hpp>

#include <fmt/format.h>

#include <cstring>

namespace ml {

std::string_view status_name(Status status) {
  switch (status) {
    case Status::io: return "ML_E_IO";
    case Status::format: return "ML_E_FORMAT";
    case Status::shape: return "ML_E_SHAPE";
    case Status::unsupported: return "ML_E_UNSUPPORTED";
    case Status::limit: return "ML_E_LIMIT";
    case Status::nomem: return "ML_E_NOMEM";
    case Status::arg: return "ML_E_ARG";
  }
  return "ML_E_FORMAT";
}

std::string describe(const Error& error) {
  std::string line;
  if (!error.path.empty()) line += error.path + ": ";
  line += error.message;
  if (error.os_errno != 0) line += fmt::format(": {}", std::strerror(error.os_errno));
  line += fmt::format(" ({}", status_name(error.status));
  if (!error.tensor.empty()) line += fmt::format(", tensor {}", error.tensor);
  if (error.offset) line += fmt::format(", offset {}", *error.offset);
  return line + ")";
}

Error with_path(Error error, std::string_view path) {
  if (error.path.empty()) error.path = path;
  return error;
}

}  // namespace ml
