#pragma once

#include "catch.hpp"

#include <ml/model.hpp>
#include <ml/quantize.hpp>

#include <string>

/// Opens a model that must be sound.
inline ml::Model open_model(const std::string& path) {
  auto model = ml::Model::open(path);
  if (!model) FAIL(ml::describe(model.error()));
  return *std::move(model);
}

/// Writes a model as a .mlb at `path`.
inline ml::QuantizeReport quantize_to(const std::string& path, const ml::Model& model,
                                      const ml::QuantizeOptions& options) {
  auto out = ml::OutputFile::create(path, {});
  REQUIRE(out);
  auto report = ml::quantize_model(model, options, *out);
  if (!report) FAIL(ml::describe(report.error()));
  REQUIRE(out->commit());
  return *std::move(report);
}
