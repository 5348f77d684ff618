#pragma once

#include <ml/inspect.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlb_info {

/// The shortest decimal that reads back as the same float32.
std::string float_text(float value);
/// The same as a JSON number (null where it is not finite).
nlohmann::ordered_json float_json(float value);

/// "7", "-1", "1e-05", or the text itself.
std::string value_text(const ml::InfoField::Value& value);
nlohmann::ordered_json value_json(const ml::InfoField::Value& value);

/// "q8_0", "q8_0/f16" (scales that are not f32).
std::string encoding_text(const ml::InfoArray& array);
/// "64x172".
std::string shape_text(const ml::InfoArray& array);

/// What a model is, line by line: {"dimensions", "dim 64, 5 layers, ..."}.
std::vector<std::pair<std::string, std::string>> model_lines(const ml::ModelDesc& desc);
nlohmann::ordered_json model_json(const ml::ModelDesc& desc);

/// What its KV cache is kept in where nobody says.
ml::KvType usual_kv(const ml::ModelDesc& desc);

/// Bytes that one position takes in such a cache.
std::uint64_t kv_bytes_per_token(const ml::ModelDesc& desc);

/// Bytes of its caches for max_seq positions; a layer with a window keeps its window only.
std::uint64_t kv_bytes(const ml::ModelDesc& desc);

/// Bytes of the states of linear-attention layers.
std::uint64_t state_bytes(const ml::ModelDesc& desc);

}  // namespace mlb_info
