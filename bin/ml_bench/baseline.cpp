// The noise model of --baseline. The spread of a test's r times is taken from their median absolute
// deviation, which a few disturbed times do not move: 1.4826 MAD, as for normal draws, times 1 + 1.5 / r for
// few of them. Their median has a standard error of about 1.25 spread / sqrt(r). Noise is three standard
// errors of the difference of two medians, plus what the machine itself has become slower since: the limit
// that counts, measured in both runs, and how much it drifted within this one. ml-bench(1) says the same.

#include "common/json_text.hpp"
#include "ml_bench/report.hpp"

#include <ml/input.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

namespace ml_bench {

namespace {

using nlohmann::ordered_json;

constexpr double kMedianError = 1.2533;
constexpr double kDeviationError = 1.4826;
constexpr double kFewSamples = 1.5;
constexpr double kStandardErrors = 3;

ml::Error error_of(std::string message) {
  return {.status = ml::Status::format, .message = std::move(message)};
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
  if (row["machine"].contains("cpu") && !row["machine"]["cpu"].is_string()) return "cpu must be a text";
  return "";
}

// Logits, and so digests, depend on these alone; speeds on more.
constexpr std::array<const char*, 3> kOfLogits{"test", "acts", "kv"};
constexpr std::array<const char*, 3> kOfSpeed{"threads", "target", "batch"};

// Models are the same when their files have one name, wherever they lie.
std::filesystem::path file_of(const ordered_json& row) {
  const std::filesystem::path path(row["model"].get<std::string>());
  return path.has_filename() ? path.filename() : path.parent_path().filename();
}

std::string cpu_of(const ordered_json& row) { return row["machine"].value("cpu", "unknown"); }

bool same_logits(const ordered_json& a, const ordered_json& b) {
  return file_of(a) == file_of(b) &&
         std::all_of(kOfLogits.begin(), kOfLogits.end(), [&](const char* key) { return a[key] == b[key]; });
}

bool same_speed(const ordered_json& a, const ordered_json& b) {
  return same_logits(a, b) &&
         std::all_of(kOfSpeed.begin(), kOfSpeed.end(), [&](const char* key) { return a[key] == b[key]; });
}

// The row that `suits`, best one of this machine and path: a baseline may hold rows of several machines.
template <class Suits>
const ordered_json* find_row(const std::vector<ordered_json>& baseline, const ordered_json& now,
                             Suits&& suits) {
  const ordered_json* found = nullptr;
  int found_rank = -1;
  for (const ordered_json& row : baseline) {
    const int rank = (cpu_of(row) == cpu_of(now) ? 2 : 0) + (row["model"] == now["model"] ? 1 : 0);
    if (rank <= found_rank || !suits(row)) continue;
    found = &row;
    found_rank = rank;
  }
  return found;
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

// Compares one row with what the baseline has of it. What the options ask for and cannot be compared is an
// error, or the gate would be open; but where only the machine is another one, the digest is compared all the
// same, and a row with one has been looked at.
class Comparison {
 public:
  Comparison(cli::Tool& tool, const Options& options, const std::vector<ordered_json>& baseline,
             const ordered_json& now)
      : tool_(tool), options_(options), baseline_(baseline), now_(now) {}

  void run() {
    if (!find([&](const ordered_json& row) { return same_logits(now_, row); })) {
      return complain(options_.fail_above || options_.digest,
                      "not in the baseline, which has no row of this file name, test, acts and kv");
    }
    const bool digest_compared = options_.digest && compare_digest();
    compare_speed(digest_compared);
  }

 private:
  template <class Suits>
  const ordered_json* find(Suits&& suits) const {
    return find_row(baseline_, now_, suits);
  }

  std::string name() const {
    return fmt::format("{}, {} threads, {}", now_["test"].get<std::string>(), now_["threads"].get<unsigned>(),
                       now_["target"].get<std::string>());
  }

  void fail(ml::Status status, std::string_view message) {
    tool_.fail({.status = status,
                .message = fmt::format("{}: {}", name(), message),
                .path = now_["model"].get<std::string>()});
  }

  std::string line(std::string_view message) const {
    return fmt::format("{}: {}: {}", now_["model"].get<std::string>(), name(), message);
  }

  void complain(bool asked, std::string_view message) {
    asked ? fail(ml::Status::arg, message) : tool_.note(line(message));
  }

  // @return false where there was nothing to compare with
  bool compare_digest() {
    const ordered_json* then = find([&](const ordered_json& row) {
      return same_logits(now_, row) && row.contains("digest") && row["digest"].is_string();
    });
    if (!then) {
      fail(ml::Status::arg, "digest not compared: the baseline has none; it was measured without --digest");
      return false;
    }
    if (now_["digest"] != (*then)["digest"]) {
      fail(ml::Status::arg,
           fmt::format("logits have the digest {}, but {} in the baseline", now_["digest"].get<std::string>(),
                       (*then)["digest"].get<std::string>()));
    }
    return true;
  }

  void compare_speed(bool digest_compared) {
    const ordered_json* then = find([&](const ordered_json& row) { return same_speed(now_, row); });
    if (!then || cpu_of(now_) != cpu_of(*then)) {
      const std::string message =
          !then ? "speed not compared: the baseline has other threads, another target or another batch"
                : fmt::format("speed not compared: the baseline is of another machine ({})", cpu_of(*then));
      if (options_.fail_above && digest_compared) return tool_.warn(line(message));
      return complain(options_.fail_above.has_value(), message);
    }
    if (std::min(now_["samples_ns"].size(), (*then)["samples_ns"].size()) < kLeastSamples) {
      return complain(
          options_.fail_above.has_value(),
          fmt::format("speed not compared: noise needs {} repetitions, here are {} and {} in the baseline",
                      kLeastSamples, now_["samples_ns"].size(), (*then)["samples_ns"].size()));
    }
    judge_speed(*then);
  }

  void judge_speed(const ordered_json& then) {
    const double slower = now_["median_ns"].get<double>() / then["median_ns"].get<double>() - 1;
    const double noise =
        kStandardErrors * std::hypot(relative_error(now_), relative_error(then)) + drift(now_, then);
    const std::string what =
        fmt::format("{:.1f} % {} than the baseline, noise {:.1f} %", 100 * std::fabs(slower),
                    slower > 0 ? "slower" : "faster", 100 * noise);
    if (options_.fail_above && slower > noise + *options_.fail_above / 100) {
      fail(ml::Status::limit, fmt::format("{}, {} % allowed", what, *options_.fail_above));
    } else {
      tool_.note(line(what));
    }
  }

  cli::Tool& tool_;
  const Options& options_;
  const std::vector<ordered_json>& baseline_;
  const ordered_json& now_;
};

}  // namespace

ml::Result<std::vector<ordered_json>> read_baseline(const std::string& path) {
  const auto text = ml::read_text(path, {.max_bytes = ml::kMaxJsonBytes});
  if (!text) return text.error();
  std::vector<ordered_json> rows;
  const std::size_t first = text->find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (*text)[first] == '[') {
    auto whole = cli::parse_json(*text);
    if (!whole) return whole.error();
    for (ordered_json& row : *whole) rows.push_back(std::move(row));
  } else {
    auto lines = cli::parse_json_lines(*text);
    if (!lines) return lines.error();
    rows = std::move(*lines);
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
    Comparison(tool, options, baseline, now).run();
  }
}

}  // namespace ml_bench
