#include "common/progress.hpp"
#include "common/text.hpp"
#include "mlb_info/details.hpp"
#include "mlb_info/words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace mlb_info {

namespace {

using nlohmann::ordered_json;

// One difference: what it is of, and both sides; an empty side lacks it.
struct Difference {
  std::string name;
  std::string what;  // "value", "encoding", "shape", "bytes", "presence"
  std::string a;
  std::string b;
  std::optional<double> rms_a = {};  // of the weights of a, and of the differences, where both can be decoded
  double rms_difference = 0;
};

// Calls compare(item of a or null, item of b or null) for the names of a in order, then those that only b
// has.
template <class Item, class Compare>
void by_name(const std::vector<Item>& a, const std::vector<Item>& b, const Compare& compare) {
  std::map<std::string_view, const Item*> in_b;
  for (const Item& item : b) in_b.emplace(item.name, &item);
  std::set<std::string_view> seen;
  for (const Item& item : a) {
    const auto other = in_b.find(item.name);
    compare(&item, other == in_b.end() ? nullptr : other->second);
    seen.insert(item.name);
  }
  for (const Item& item : b) {
    if (!seen.contains(item.name)) compare(static_cast<const Item*>(nullptr), &item);
  }
}

std::uint64_t n_unequal(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::size_t shared = std::min(a.size(), b.size());
  std::uint64_t n = std::max(a.size(), b.size()) - shared;
  for (std::size_t i = 0; i < shared; ++i) n += a[i] != b[i] ? 1 : 0;
  return n;
}

// How far apart the weights are, where both can be decoded.
void compare_weights(const ml::InfoArray& a, const ml::InfoArray& b, unsigned threads,
                     Difference& difference) {
  const auto weights_a = ml::load_weights(a);
  const auto weights_b = ml::load_weights(b);
  if (!weights_a || !weights_b) return;
  const ml::TensorView& view_a = weights_a->view;
  const ml::TensorView& view_b = weights_b->view;
  if (view_a.rows != view_b.rows || view_a.cols != view_b.cols) return;
  difference.rms_a = ml::tensor_stats(view_a, threads).rms;
  difference.rms_difference = ml::rms_difference(view_a, view_b);
}

// Arrays of one name: the first of shape, encoding and bytes that differs.
std::optional<Difference> compare_arrays(const ml::InfoArray& a, const ml::InfoArray& b, unsigned threads) {
  if (a.shape != b.shape) return Difference{a.name, "shape", shape_text(a), shape_text(b)};
  Difference difference{a.name, "encoding", encoding_text(a), encoding_text(b)};
  if (difference.a == difference.b) {
    std::uint64_t n = n_unequal(a.data, b.data) + n_unequal(a.scales, b.scales);
    for (std::size_t i = 0; i < std::min(a.more.size(), b.more.size()); ++i)
      n += n_unequal(a.more[i], b.more[i]);
    if (n == 0) return std::nullopt;
    difference = {a.name, "bytes", std::to_string(n), std::to_string(a.n_bytes())};
  }
  compare_weights(a, b, threads, difference);
  return difference;
}

std::vector<Difference> compare(const ml::FileReport& a, const ml::FileReport& b, const cli::Tool& tool) {
  std::uint64_t total = 0;
  for (const ml::InfoArray& array : a.arrays) total += array.n_bytes();
  cli::Progress progress(tool, "comparing", total, cli::human_size);
  std::vector<Difference> found;
  if (a.format != b.format) found.push_back({"format", "value", a.format, b.format});
  by_name(a.fields, b.fields, [&](const ml::InfoField* in_a, const ml::InfoField* in_b) {
    const std::string text_a = in_a == nullptr ? "" : value_text(in_a->value);
    const std::string text_b = in_b == nullptr ? "" : value_text(in_b->value);
    const std::string& name = (in_a == nullptr ? in_b : in_a)->name;
    if (in_a == nullptr || in_b == nullptr) {
      found.push_back({name, "presence", text_a, text_b});
    } else if (!(*in_a == *in_b)) {
      found.push_back({name, "value", text_a, text_b});
    }
  });
  by_name(a.arrays, b.arrays, [&](const ml::InfoArray* in_a, const ml::InfoArray* in_b) {
    if (in_a == nullptr || in_b == nullptr) {
      const ml::InfoArray& only = *(in_a == nullptr ? in_b : in_a);
      const std::string text = encoding_text(only) + " " + shape_text(only);
      found.push_back({only.name, "presence", in_a == nullptr ? "" : text, in_b == nullptr ? "" : text});
      return;
    }
    if (auto difference = compare_arrays(*in_a, *in_b, tool.threads()))
      found.push_back(std::move(*difference));
    progress.advance(in_a->n_bytes());
  });
  return found;
}

std::string difference_line(const Difference& difference) {
  const std::string name = cli::printable(difference.name);
  if (difference.what == "presence") {
    return difference.b.empty() ? fmt::format("only in A: {} {}\n", name, difference.a)
                                : fmt::format("only in B: {} {}\n", name, difference.b);
  }
  if (difference.what == "value") return fmt::format("{}: {} | {}\n", name, difference.a, difference.b);
  std::string line = difference.what == "bytes"
                         ? fmt::format("{}: {} of {} bytes differ", name, difference.a, difference.b)
                         : fmt::format("{}: {} {} | {}", name, difference.what, difference.a, difference.b);
  if (difference.rms_a) {
    line += fmt::format("; rms of the weights {:.4g}, of the difference {:.4g}", *difference.rms_a,
                        difference.rms_difference);
  }
  return line + "\n";
}

ordered_json difference_json(const Difference& difference) {
  ordered_json json = {{"name", difference.name}, {"what", difference.what}};
  if (difference.what == "bytes") {
    json["n_unequal_bytes"] = std::stoull(difference.a);
    json["n_bytes"] = std::stoull(difference.b);
  } else {
    json["a"] = difference.a;
    json["b"] = difference.b;
  }
  if (difference.rms_a) {
    json["rms"] = *difference.rms_a;
    json["rms_difference"] = difference.rms_difference;
  }
  return json;
}

}  // namespace

bool print_diff(cli::Tool& tool, const ml::FileReport& a, const ml::FileReport& b, const std::string& path_a,
                const std::string& path_b, bool json) {
  const std::vector<Difference> found = compare(a, b, tool);
  if (json) {
    ordered_json list = ordered_json::array();
    for (const Difference& difference : found) list.push_back(difference_json(difference));
    tool.print(
        cli::json_line({{"a", path_a}, {"b", path_b}, {"equal", found.empty()}, {"differences", list}}));
    return !found.empty();
  }
  for (const Difference& difference : found) tool.print(difference_line(difference));
  return !found.empty();
}

}  // namespace mlb_info
