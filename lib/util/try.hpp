#pragma once

#include <ml/status.hpp>

#define ML_CONCAT_(a, b) a##b
#define ML_CONCAT(a, b) ML_CONCAT_(a, b)

/// `ML_TRY(auto x, f());` declares x from a Result, or returns its error from this function.
#define ML_TRY(declaration, expression) ML_TRY_(declaration, expression, ML_CONCAT(ml_try_, __LINE__))
#define ML_TRY_(declaration, expression, result) \
  auto result = (expression);                    \
  if (!result) return std::move(result.error()); \
  declaration = std::move(*result)

/// The same for a Result whose value is not needed.
#define ML_CHECK(expression)                                                         \
  do {                                                                               \
    if (auto ml_check = (expression); !ml_check) return std::move(ml_check.error()); \
  } while (false)
