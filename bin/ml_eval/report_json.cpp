#include "common/csv.hpp"
#include "common/json_text.hpp"
#include "common/standard_input.hpp"
#include "common/text.hpp"
#include "ml_eval/report.hpp"

#include <ml/input.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <set>

namespace ml_eval {

namespace {

using nlohmann::ordered_json;

ordered_json estimate(const ml::Estimate& value) { return {{"mean", value.mean}, {"error", value.error}}; }

void add_comparison(ordered_json& json, const ml::EvaluationSums& sums) {
  json["base_perplexity"] = estimate(sums.base_perplexity());
  json["base_nll"] = estimate(sums.base_nll());
  json["perplexity_ratio"] = estimate(sums.perplexity_ratio());
  ordered_json kl = estimate(sums.kl());
  kl["median"] = sums.kl_quantile(0.5);
  kl["p90"] = sums.kl_quantile(0.9);
  kl["p99"] = sums.kl_quantile(0.99);
  kl["p999"] = sums.kl_quantile(0.999);
  kl["max"] = sums.kl_max();
  json["kl"] = kl;
  json["top1_agreement"] = estimate(sums.top_agreement());
  json["top5_agreement"] = estimate(sums.top5_agreement());
  json["probability_change"] = estimate(sums.probability_change());
  json["probability_change"]["rms"] = sums.probability_change_rms();
}

std::vector<ordered_json> by_position(const ml::EvaluationSums& sums) {
  std::vector<ordered_json> rows;
  const auto positions = sums.positions();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto& p = positions[i];
    if (p.n_tokens == 0) continue;
    const auto n = static_cast<double>(p.n_tokens);
    ordered_json row{{"first", i == 0 ? 0 : std::uint64_t(1) << i},
                     {"last", (std::uint64_t(2) << i) - 1},
                     {"n_tokens", p.n_tokens},
                     {"nll", p.nll.value() / n}};
    if (sums.compared()) {
      row["kl"] = p.kl.value() / n;
      row["top1_agreement"] = static_cast<double>(p.n_same_top) / n;
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<ordered_json> by_window(const Plan& plan, const Result& result) {
  std::vector<ordered_json> rows;
  for (const WindowResult& window : result.windows) {
    ordered_json row{{"text", plan.texts[window.text].name},
                     {"begin", window.begin},
                     {"n_tokens", window.n_tokens},
                     {"nll", window.nll}};
    if (result.sums.compared()) row["kl"] = window.kl;
    rows.push_back(row);
  }
  return rows;
}

// What two results must have in common to be joined.
constexpr const char* kSame[] = {"model", "against", "ctx", "stride", "bos", "acts", "kv"};

bool is_text(const ordered_json& value) { return value.is_string(); }
bool is_text_or_null(const ordered_json& value) { return value.is_string() || value.is_null(); }
bool is_texts(const ordered_json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), is_text);
}
bool is_flag(const ordered_json& value) { return value.is_boolean(); }
bool is_count(const ordered_json& value) { return value.is_number_unsigned(); }
bool is_u32(const ordered_json& value) {
  return is_count(value) && value.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
}

// What a result must have besides its sums and parts.
struct Rule {
  const char* key;
  bool (*holds)(const ordered_json& value);
  const char* text;
};
constexpr Rule kRules[] = {{"model", is_text, "a text"},
                           {"against", is_text_or_null, "a text or null"},
                           {"texts", is_texts, "a list of texts"},
                           {"n_texts", is_count, "a whole number"},
                           {"n_windows", is_count, "a whole number"},
                           {"ctx", is_u32, "a whole number of 32 bits"},
                           {"stride", is_u32, "a whole number of 32 bits"},
                           {"bos", is_flag, "true or false"},
                           {"acts", is_text, "a text"},
                           {"kv", is_text, "a text"}};

ml::Error error_of(const std::string& message) { return {.status = ml::Status::format, .message = message}; }

// The objects of a file, one a line.
ml::Result<std::vector<ordered_json>> read_results(const std::string& path) {
  const auto text = ml::read_text(path, {.max_bytes = ml::kMaxJsonBytes});
  if (!text) return text.error();
  auto objects = cli::parse_json_lines(*text);
  if (!objects) return objects.error();
  for (const ordered_json& object : *objects) {
    if (!object.is_object() || !object.contains("sums")) return error_of("is no result of ml-eval --json");
    if (!object.contains("parts")) return error_of("parts is missing");
    for (const Rule& rule : kRules) {
      if (!object.contains(rule.key)) return error_of(fmt::format("{} is missing", rule.key));
      if (!rule.holds(object[rule.key])) return error_of(fmt::format("{} must be {}", rule.key, rule.text));
    }
  }
  if (objects->empty()) return error_of("holds no result of ml-eval --json");
  return objects;
}

// @param texts  names of those that `all` has
ml::Result<void> join(ordered_json& all, std::set<std::string>& texts, const ordered_json& next,
                      Result& result) {
  auto sums = ml::EvaluationSums::parse(next["sums"].dump());
  if (!sums) return sums.error();
  if (all.is_null()) {
    all = next;
    all["n_windows"] = 0;
    all["texts"] = ordered_json::array();
  }
  for (const char* key : kSame) {
    if (all[key] != next[key]) {
      return ml::Error{.status = ml::Status::arg,
                       .message = fmt::format("{} is {}, but {} in the results before", key, next[key].dump(),
                                              all[key].dump())};
    }
  }
  const auto n_before = all["n_windows"].get<std::uint64_t>();
  const auto n_more = next["n_windows"].get<std::uint64_t>();
  if (n_more > std::numeric_limits<std::uint64_t>::max() - n_before) {
    return ml::Error{.status = ml::Status::limit,
                     .message = fmt::format("n_windows is {}, after {} in the results before: too many",
                                            n_more, n_before)};
  }
  all["n_windows"] = n_before + n_more;
  for (const auto& name : next["texts"]) {
    if (texts.insert(name.get<std::string>()).second) all["texts"].push_back(name);
  }
  return result.sums.merge(*sums);
}

std::string text_of(const ordered_json& value) { return value.is_string() ? value.get<std::string>() : ""; }

ordered_json to_json(const About& about, const ml::EvaluationSums& sums) {
  ordered_json json{{"model", about.model},
                    {"against", about.against.empty() ? ordered_json() : ordered_json(about.against)},
                    {"texts", about.texts},
                    {"n_texts", about.n_texts},
                    {"n_windows", about.n_windows},
                    {"ctx", about.ctx},
                    {"stride", about.stride},
                    {"bos", about.bos},
                    {"acts", about.activations},
                    {"kv", about.kv},
                    {"n_tokens", sums.n_tokens()},
                    {"perplexity", estimate(sums.perplexity())},
                    {"nll", estimate(sums.nll())}};
  if (sums.compared()) add_comparison(json, sums);
  return json;
}

void print_json(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
                const Options& options) {
  ordered_json json = to_json(about, result.sums);
  if (options.by_position) json["by_position"] = by_position(result.sums);
  if (options.by_window && plan != nullptr) json["by_window"] = by_window(*plan, result);
  json["parts"] = about.parts.to_json();
  json["sums"] = ordered_json::parse(result.sums.to_json());
  tool.print(cli::json_line(json));
}

void print_csv(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
               const Options& options) {
  if (options.by_window && plan != nullptr) return tool.print(cli::csv_text(by_window(*plan, result)));
  if (options.by_position) return tool.print(cli::csv_text(by_position(result.sums)));
  tool.print(cli::csv_text({to_json(about, result.sums)}, "texts"));
}

}  // namespace

void print(cli::Tool& tool, const About& about, const Plan* plan, const Result& result,
           const Options& options) {
  if (options.format == "json") {
    print_json(tool, about, plan, result, options);
  } else if (options.format == "csv") {
    print_csv(tool, about, plan, result, options);
  } else {
    print_text(tool, about, plan, result, options);
  }
}

void merge(cli::Tool& tool, const Options& options) {
  std::vector<std::string> paths{options.model};
  paths.insert(paths.end(), options.texts.begin(), options.texts.end());
  ordered_json all;
  std::set<std::string> texts;
  Result result;
  Parts parts;
  cli::HtmlOutput html(tool);
  if (!html.open(options.html, paths) || !tool.open_output(paths, false)) return;
  for (const std::string& path : paths) {
    const std::string name = cli::input_name(path);
    const auto objects = read_results(path);
    if (!objects) return tool.fail(ml::with_path(objects.error(), name));
    for (const ordered_json& object : *objects) {
      auto joined = join(all, texts, object, result);
      if (joined) joined = parts.add(object["parts"], name);
      if (!joined) return tool.fail(ml::with_path(joined.error(), name));
    }
  }
  if (const auto complete = parts.complete(); !complete) {
    ml::Error error = complete.error();
    if (!options.partial) {
      error.message += "; --partial joins the others";
      return tool.fail(error);
    }
    tool.note(fmt::format("{}: {}", error.path, error.message));
  }
  About about{.model = text_of(all["model"]),
              .against = text_of(all["against"]),
              .texts = {},
              .n_texts = all["n_texts"].get<std::uint64_t>(),
              .n_windows = all["n_windows"].get<std::uint64_t>(),
              .ctx = all["ctx"].get<std::uint32_t>(),
              .stride = all["stride"].get<std::uint32_t>(),
              .bos = all["bos"] == true,
              .activations = text_of(all["acts"]),
              .kv = text_of(all["kv"]),
              .parts = std::move(parts)};
  for (const auto& name : all["texts"]) about.texts.push_back(text_of(name));
  about.n_texts = std::max<std::uint64_t>(about.n_texts, about.texts.size());
  print(tool, about, nullptr, result, options);
  tool.flush();
  if (html.wanted()) html.write(html_page(about, nullptr, result));
}

}  // namespace ml_eval
