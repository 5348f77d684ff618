#include "common/text.hpp"

#include "mlb_info/details.hpp"
#include "mlb_info/words.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace mlb_info {

namespace {

using nlohmann::ordered_json;

// One difference: what it is of, and both sides; an empty side lacks it.
struct Difference {
  std::string name;
  std::string what;  // "value", "encoding", "shape", "bytes", "presence"
  std::string a;
  std::string b;
};

// Calls compare(item of a or null, item of b or null) for the names of a in order, then those that only b
// has.
template <class Item, class Compare>
void by_name(const std::vector<Item>& a, const std::vector<Item>& b, const Compare& compare) {
  std::unordered_map<std::string_view, const Item*> in_b;
  for (const Item& item : b) in_b.emplace(item.name, &item);
  std::unordered_set<std::string_view> seen;
  for (const Item& item : a) {
    const auto other = in_b.find(item.name);
    compare(&item, other == in_b.end() ? nullptr : other->second);
    seen.insert(item.name);
  }
  for (const Item& item : b) {
    if (!seen.contains(item.name)) compare(static_cast<const Item*>(nullptr), &item);
  }
}

bool same_bytes(const ml::InfoArray& a, const ml::InfoArray& b) {
  return std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end()) &&
         std::equal(a.scales.begin(), a.scales.end(), b.scales.begin(), b.scales.end());
}

// What the weights' difference amounts to: "rms of the difference 0.0012, rms of the weights 0.31".
std::string weights_text(const ml::InfoArray& a, const ml::InfoArray& b, unsigned threads) {
  if (!a.view || !b.view || a.view->rows != b.view->rows || a.view->cols != b.view->cols) return {};
  return fmt::format("rms {:.4g}, the difference's {:.4g}", ml::tensor_stats(*a.view, threads).rms,
                     ml::rms_difference(*a.view, *b.view));
}

std::vector<Difference> compare(const ml::FileReport& a, const ml::FileReport& b, unsigned threads) {
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
    if (encoding_text(*in_a) != encoding_text(*in_b)) {
      found.push_back({in_a->name, "encoding", encoding_text(*in_a), encoding_text(*in_b)});
    }
    if (in_a->shape != in_b->shape)
      found.push_back({in_a->name, "shape", shape_text(*in_a), shape_text(*in_b)});
    if (!same_bytes(*in_a, *in_b)) {
      found.push_back(
          {in_a->name, "bytes", std::to_string(in_a->n_bytes()), std::to_string(in_b->n_bytes())});
      if (const std::string text = weights_text(*in_a, *in_b, threads); !text.empty())
        found.back().b += "; " + text;
    }
  });
  return found;
}

std::string difference_line(const Difference& difference) {
  const std::string name = printable(difference.name);
  if (difference.what == "presence") {
    return difference.b.empty() ? fmt::format("only in A: {} {}\n", name, difference.a)
                                : fmt::format("only in B: {} {}\n", name, difference.b);
  }
  if (difference.what == "value") return fmt::format("{}: {} | {}\n", name, difference.a, difference.b);
  return fmt::format("{}: {} {} | {}\n", name, difference.what, difference.a, difference.b);
}

}  // namespace

bool print_diff(cli::Tool& tool, const ml::FileReport& a, const ml::FileReport& b, const std::string& path_a,
                const std::string& path_b, bool json) {
  const std::vector<Difference> found = compare(a, b, tool.threads());
  if (json) {
    ordered_json list = ordered_json::array();
    for (const Difference& difference : found) {
      list.push_back(
          {{"name", difference.name}, {"what", difference.what}, {"a", difference.a}, {"b", difference.b}});
    }
    tool.print(
        cli::json_line({{"a", path_a}, {"b", path_b}, {"equal", found.empty()}, {"differences", list}}));
    return !found.empty();
  }
  for (const Difference& difference : found) tool.print(difference_line(difference));
  return !found.empty();
}

}  // namespace mlb_info
