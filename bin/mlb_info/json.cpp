#include "common/text.hpp"

#include "mlb_info/details.hpp"
#include "mlb_info/words.hpp"

#include <nlohmann/json.hpp>

#include <map>

namespace mlb_info {

namespace {

using nlohmann::ordered_json;

ordered_json stats_json(const ml::TensorStats& stats) {
  return {
      {"min", float_json(stats.min)},
      {"max", float_json(stats.max)},
      {"mean", stats.mean},
      {"rms", stats.rms},
      {"zero_share", stats.n == 0 ? 0.0 : static_cast<double>(stats.n_zero) / static_cast<double>(stats.n)},
      {"n_non_finite", stats.n_non_finite},
      {"histogram", stats.histogram}};
}

ordered_json array_json(const ml::FileReport& report, std::size_t i, const Details& details) {
  const ml::InfoArray& array = report.arrays[i];
  ordered_json json = {{"name", array.name}};
  json["layer"] = array.layer == ml::kNoLayer ? ordered_json() : ordered_json(array.layer);
  json["encoding"] = array.encoding;
  json["scales"] = ml::scale_type_name(array.scale_type);
  json["shape"] = array.shape;
  if (report.files.size() > 1) json["file"] = report.files[array.file].path;
  json["offset"] = array.offset;
  json["n_bytes"] = array.n_bytes();
  if (!array.scales.empty()) {
    json["scale_offset"] = array.scale_offset;
    json["n_scale_bytes"] = array.scales.size();
  }
  if (!details.stats.empty() && details.stats[i]) json["stats"] = stats_json(*details.stats[i]);
  if (!details.array_hashes.empty()) json["xxh3_128"] = details.array_hashes[i];
  return json;
}

ordered_json defect_json(const ml::Error& defect) {
  ordered_json json = {
      {"status", ml::status_name(defect.status)}, {"message", defect.message}, {"file", defect.path}};
  if (!defect.tensor.empty()) json["tensor"] = defect.tensor;
  if (defect.offset) json["offset"] = *defect.offset;
  return json;
}

// An ordered object looks a name up by passing over those before it: they are found here.
ordered_json fields_json(const std::vector<ml::InfoField>& fields) {
  ordered_json json = ordered_json::object();
  auto& members = json.get_ref<ordered_json::object_t&>();
  std::map<std::string_view, std::size_t> places;
  for (const ml::InfoField& field : fields) {
    const auto [place, is_new] = places.try_emplace(field.name, members.size());
    if (is_new) {
      members.emplace_back(field.name, value_json(field.value));
    } else {
      (members.begin() + static_cast<std::ptrdiff_t>(place->second))->second = value_json(field.value);
    }
  }
  return json;
}

void add_totals(const ml::FileReport& report, ordered_json& json) {
  std::uint64_t n_weights = 0;
  std::uint64_t n_bytes = 0;
  ordered_json encodings = ordered_json::array();
  for (const EncodingTotal& total : encoding_totals(report)) {
    encodings.push_back({{"encoding", total.name},
                         {"n_tensors", total.n_tensors},
                         {"n_weights", total.n_weights},
                         {"n_bytes", total.n_bytes}});
    n_weights += total.n_weights;
    n_bytes += total.n_weights == 0 ? 0 : total.n_bytes;
  }
  json["encodings"] = std::move(encodings);
  json["n_tensors"] = report.arrays.size();
  json["n_weights"] = n_weights;
  json["n_tensor_bytes"] = n_bytes;
  if (n_weights != 0)
    json["bits_per_weight"] = 8.0 * static_cast<double>(n_bytes) / static_cast<double>(n_weights);
}

}  // namespace

void print_json_error(cli::Tool& tool, const std::string& path, const ml::Error& error) {
  nlohmann::ordered_json json;
  json["file"] = path;
  json["error"] = ml::describe(error);
  json["status"] = std::string(ml::status_name(error.status));
  tool.print(cli::json_line(json));
}

std::vector<ordered_json> array_rows(const std::string& path, const ml::FileReport& report,
                                     const Details& details) {
  std::vector<ordered_json> rows;
  for (std::size_t i = 0; i < report.arrays.size(); ++i) {
    ordered_json row{{"path", path}};
    row.update(array_json(report, i, details));
    row["shape"] = shape_text(report.arrays[i]);
    rows.push_back(std::move(row));
  }
  return rows;
}

void print_json(cli::Tool& tool, const std::string& path, const ml::FileReport& report,
                const Details& details, const Wanted& wanted) {
  ordered_json json = {{"file", path}, {"format", report.format}, {"n_bytes", report.n_bytes()}};
  if (!report.note.empty()) json["note"] = report.note;
  json["fields"] = fields_json(report.fields);
  if (report.desc) {
    json["model"] = model_json(*report.desc);
    json["kv_bytes_per_token"] = kv_bytes_per_token(*report.desc);
    json["kv_bytes"] = kv_bytes(*report.desc);
    json["state_bytes"] = state_bytes(*report.desc);
  }
  if (!report.arrays.empty()) add_totals(report, json);
  if (wanted.check) {
    json["sound"] = report.defects.empty();
    ordered_json defects = ordered_json::array();
    for (const ml::Error& defect : report.defects) defects.push_back(defect_json(defect));
    json["defects"] = std::move(defects);
  }
  if (wanted.rows() || wanted.map) {
    ordered_json tensors = ordered_json::array();
    for (std::size_t i = 0; i < report.arrays.size(); ++i) tensors.push_back(array_json(report, i, details));
    json["tensors"] = std::move(tensors);
  }
  if (wanted.hash) {
    ordered_json files = ordered_json::array();
    for (std::size_t i = 0; i < report.files.size(); ++i) {
      files.push_back({{"file", report.files[i].path},
                       {"n_bytes", report.files[i].bytes.size()},
                       {"xxh3_128", details.file_hashes[i]}});
    }
    json["files"] = std::move(files);
  }
  tool.print(cli::json_line(json));
}

}  // namespace mlb_info
