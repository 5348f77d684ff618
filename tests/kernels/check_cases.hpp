#pragma once

#include "kernels/support.hpp"

#include <memory>
#include <string>
#include <vector>

/// One kernel with fixed operands.
struct CheckCase {
  std::string name;
  double bytes = 0;       ///< that a run reads of its largest operand
  double ops = 0;         ///< operations of a run; 0: bytes are what counts
  const char* unit = "";  ///< of ops

  CheckCase() = default;
  virtual ~CheckCase() = default;
  CheckCase(const CheckCase&) = delete;
  CheckCase& operator=(const CheckCase&) = delete;

  /// Runs the kernel of a table; the operands are the same each time.
  virtual void run(const ml::kernels::Table& table) = 0;
  /// What the last run wrote.
  virtual std::vector<std::byte> output() const = 0;
};

/// All kernels of a table.
std::vector<std::unique_ptr<CheckCase>> check_cases();
