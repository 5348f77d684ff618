#pragma once

#include <ml/output.hpp>
#include <ml/session.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cli {

/// The file of --routes: a JSON object a line for each choice of a router.
class RouteLog {
 public:
  /// @error io, arg  as OutputFile::create()
  static ml::Result<RouteLog> create(const std::string& path, bool force,
                                     const std::vector<std::string>& inputs);

  /// What a session calls; it must not outlive the log.
  ml::RouteSink sink();
  /// @error io
  ml::Result<void> commit();

 private:
  struct State {
    ml::OutputFile file;
    ml::Result<void> written = {};
  };
  explicit RouteLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
  std::unique_ptr<State> state_;
};

}  // namespace cli
