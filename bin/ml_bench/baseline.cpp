// The noise model of --baseline. The spread of a test's r times is taken from their median absolute
// deviation, which a few disturbed times do not move: 1.4826 MAD, as for normal draws, times 1 + 1.5 / r for
// few of them. Their median has a standard error of about 1.25 spread / sqrt(r). Noise is three standard
// errors of the difference of two medians, plus what the machine itself has become slower since: the limit
// that counts, measured in both runs, and how much it drifted within this one. ml-bench(1) says the same.

#include "ml_bench/report.hpp"

#include <ml/input.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace ml_bench {

namespace {

using nlohmann::ordered_json;

constexpr double kMedianError = 1.2533;
constexpr double kDeviationError = 1.4826;
constexpr double kFewSamples = 1.5;
constexpr double kStandardErrors = 3;
constexpr std::size_t kLeastSamples = 3;

ml::Error error_of(std::string message) {
  return {.status = ml::Status::format, .message = std::move(message)};
}

// @param offset  of the text in its file
ml::Result<ordered_json> parse(std::string_view text, std::size_t offset) {
  try {
    return ordered_json::parse(text);
  } catch (const ordered_json::parse_error& error) {
    return ml::Error{.status = ml::Status::format,
                     .message = "not JSON",
                     .offset = offset + std::max<std::size_t>(error.byte, 1) - 1};
  } catch (const ordered_json::exception&) {  // a number that no double holds
    return ml::Error{.status = ml::Status::format, .message = "not JSON", .offset = offset};
  }
}

// What the comparison reads of a baseline's row. @return its complaint, "" for none
std::string complaint(const ordered_json& row) {
  if (!row.is_object()) return "a row is no object";
  for (const char* key : {"model", "test", "target", "acts", "kv"}) {
    if (!row.contains(key) || !row[key].is_string()) return fmt::format("{} must be a text", key);
  }
  for (const char* key : {"threads", "batch"}) {
    if (!row.contains(key) || !row[key].is_number_unsigned())
      return fmt::format("{} must be a whole number", key);
  }
  const auto above_zero = [](const ordered_json& value) {
    return value.is_number() && value.get<double>() > 0;
  };
  if (!row.contains("median_ns") || !above_zero(row["median_ns"]))
    return "median_ns must be a number above 0";
  const bool has_samples =
      row.contains("samples_ns") && row["samples_ns"].is_array() && !row["samples_ns"].empty();
  if (!has_samples || !std::all_of(row["samples_ns"].begin(), row["samples_ns"].end(), above_zero))
    return "samples_ns must be a list of numbers above 0";
  if (!row.contains("machine") || !row["machine"].is_object()) return "machine must be an object";
  return "";
}

// Tests are the same when these are; models by the name of their file, wherever it lies.
bool same_test(const ordered_json& a, const ordered_json& b) {
  const auto file = [](const ordered_json& row) {
    std::filesystem::path path(row["model"].get<std::string>());
    return path.has_filename() ? path.filename() : path.parent_path().filename();
  };
  for (const char* key : {"test", "threads", "target", "acts", "kv", "batch"}) {
    if (a[key] != b[key]) return false;
  }
  return file(a) == file(b);
}

double number_or(const ordered_json& row, const char* key, double otherwise) {
  return row.contains(key) && row[key].is_number() ? row[key].get<double>() : otherwise;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// The standard error of a row's median, as a share of it.
double relative_error(const ordered_json& row) {
  auto values = row["samples_ns"].get<std::vector<double>>();
  const auto n = static_cast<double>(values.size());
  const double median = median_of(values);
  for (double& value : values) value = std::fabs(value - median);
  const double spread = kDeviationError * median_of(values) * (1 + kFewSamples / n);
  return kMedianError * spread / std::sqrt(n) / median;
}

// By which share the machine is slower now than it was, by the limit that counts for the test.
double drift(const ordered_json& now, const ordered_json& then) {
  const bool decode = now["n_gen"] != 0;
  const char* limit = decode ? "read_bandwidth" : "int8_peak";
  const double before = number_or(then, limit, 0);
  const double after = number_or(now, limit, 0);
  const double within = number_or(now, decode ? "read_bandwidth_drift" : "int8_peak_drift", 0);
  return (before > 0 && after > 0 ? std::max(0.0, before / after - 1) : 0) + within;
}

void compare_row(cli::Tool& tool, const Options& options, const ordered_json& now, const ordered_json& then) {
  const std::string name = fmt::format("{}, {} threads, {}", now["test"].get<std::string>(),
                                       now["threads"].get<unsigned>(), now["target"].get<std::string>());
  const std::string model = now["model"].get<std::string>();
  const auto fail = [&](ml::Status status, std::string message) {
    tool.fail({.status = status, .message = std::move(message), .path = model});
  };
  if (now["digest"].is_string() && then.contains("digest") && then["digest"].is_string() &&
      now["digest"] != then["digest"]) {
    fail(ml::Status::arg, fmt::format("{}: logits have the digest {}, but {} in the baseline", name,
                                      now["digest"].get<std::string>(), then["digest"].get<std::string>()));
  }
  if (now["machine"].value("cpu", "") != then["machine"].value("cpu", "")) {
    return tool.note(fmt::format("{}: {}: not compared: the baseline is of another machine ({})", model, name,
                                 then["machine"].value("cpu", "unknown")));
  }
  if (std::min(now["samples_ns"].size(), then["samples_ns"].size()) < kLeastSamples) {
    return tool.note(
        fmt::format("{}: {}: not compared: noise needs {} repetitions", model, name, kLeastSamples));
  }
  const double slower = now["median_ns"].get<double>() / then["median_ns"].get<double>() - 1;
  const double noise =
      kStandardErrors * std::hypot(relative_error(now), relative_error(then)) + drift(now, then);
  const std::string what =
      fmt::format("{}: {:.1f} % {} than the baseline, noise {:.1f} %", name, 100 * std::fabs(slower),
                  slower > 0 ? "slower" : "faster", 100 * noise);
  if (options.fail_above && slower > noise + *options.fail_above / 100) {
    fail(ml::Status::limit, fmt::format("{}, {} % allowed", what, *options.fail_above));
  } else {
    tool.note(fmt::format("{}: {}", model, what));
  }
}

}  // namespace

ml::Result<std::vector<ordered_json>> read_baseline(const std::string& path) {
  const auto text = ml::read_text(path, {.max_bytes = ml::kMaxJsonBytes});
  if (!text) return text.error();
  std::vector<ordered_json> rows;
  const std::size_t first = text->find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (*text)[first] == '[') {
    auto whole = parse(*text, 0);
    if (!whole) return whole.error();
    for (ordered_json& row : *whole) rows.push_back(std::move(row));
  } else {
    for (std::size_t begin = 0; begin < text->size();) {
      const std::size_t end = std::min(text->find('\n', begin), text->size());
      const std::string_view line(text->data() + begin, end - begin);
      if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
        auto row = parse(line, begin);
        if (!row) return row.error();
        rows.push_back(std::move(*row));
      }
      begin = end + 1;
    }
  }
  if (rows.empty()) return error_of("holds no result of ml-bench");
  for (const ordered_json& row : rows) {
    if (const std::string problem = complaint(row); !problem.empty())
      return error_of("is no result of ml-bench --format json: " + problem);
  }
  return rows;
}

void compare(cli::Tool& tool, const Results& results, const Options& options,
             const std::vector<ordered_json>& baseline) {
  for (const Row& row : results.rows) {
    const ordered_json now = to_json(row, results, options);
    const auto then = std::find_if(baseline.begin(), baseline.end(),
                                   [&](const ordered_json& other) { return same_test(now, other); });
    if (then == baseline.end()) {
      tool.note(
          fmt::format("{}: {}, {} threads: not in the baseline", row.model->path, row.name(), row.threads));
    } else {
      compare_row(tool, options, now, *then);
    }
  }
}

}  // namespace ml_bench
