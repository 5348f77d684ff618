#include "ml_run/route_log.hpp"

#include "common/text.hpp"

#include <nlohmann/json.hpp>

#include <string_view>

namespace cli {

ml::Result<RouteLog> RouteLog::create(const std::string& path, bool force,
                                      const std::vector<std::string>& inputs) {
  auto file = ml::OutputFile::create(path, {.force = force, .binary = false, .inputs = inputs});
  if (!file) return std::move(file.error());
  return RouteLog(std::unique_ptr<State>(new State{.file = std::move(*file)}));
}

ml::RouteSink RouteLog::sink() {
  return [state = state_.get()](const ml::Route& route) {
    if (!state->written) return;
    const std::string line = json_line({{"layer", route.layer},
                                        {"position", route.position},
                                        {"router", route.values ? "value" : "mlp"},
                                        {"experts", route.experts},
                                        {"weights", route.weights}});
    state->written = state->file.write(std::as_bytes(std::span(std::string_view(line))));
  };
}

ml::Result<void> RouteLog::commit() {
  if (!state_->written) return state_->written;
  return state_->file.commit();
}

}  // namespace cli
