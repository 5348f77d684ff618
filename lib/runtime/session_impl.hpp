#pragma once

#include <ml/session.hpp>

#include "runtime/engine.hpp"

#include <memory>

namespace ml {

struct Session::Impl {
  std::unique_ptr<Engine> engine;
  Sequence sequence;
};

}  // namespace ml
