#include "convert/recipe.hpp"

#include "util/json.hpp"
#include "util/show_name.hpp"
#include "util/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ml {

namespace {

using nlohmann::json;

struct Variable {
  std::string name;
  std::uint64_t value;
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool mentions(const json& value, const std::string& text) {
  if (value.is_string()) return value.get_ref<const std::string&>().find(text) != std::string::npos;
  if (!value.is_structured()) return false;
  return std::any_of(value.begin(), value.end(), [&](const json& part) { return mentions(part, text); });
}

class Expander {
 public:
  Expander(RecipeFiles& files, std::vector<RecipeEntry>& out) : files_(files), out_(out) {}

  Result<void> list(const json& entries, const std::string& at) {
    if (!entries.is_array())
      return recipe_error(at, fmt::format("is {}, must be a list", show_json(entries)));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string place = fmt::format("{}[{}]", at, i);
      if (!entries[i].is_object()) {
        return recipe_error(place, fmt::format("is {}, must be an object", show_json(entries[i])));
      }
      if (entries[i].contains("for")) {
        ML_CHECK(loop(entries[i], place));
      } else {
        ML_CHECK(entry(entries[i], place));
      }
    }
    return {};
  }

 private:
  Result<void> loop(const json& object, const std::string& at) {
    ML_CHECK(check_recipe_keys(object, at, {"for", "range", "entries"}, {}));
    const json& name = object["for"];
    if (!name.is_string() || !is_name(name.get_ref<const std::string&>())) {
      return recipe_error(at + ".for",
                          fmt::format("is {}, must be a name of letters, digits and _", show_json(name)));
    }
    const auto variable = name.get<std::string>();
    for (const Variable& outer : variables_) {
      if (outer.name == variable)
        return recipe_error(at + ".for",
                            fmt::format("is \"{}\", the variable of a loop around it", variable));
    }
    ML_CHECK(count(at));
    if (const json& entries = object["entries"];
        searched_.insert(&entries).second && !mentions(entries, "{" + variable + "}")) {
      return recipe_error(at + ".for", fmt::format("is \"{}\", but no entry has {{{}}}", variable, variable));
    }
    const json& range = object["range"];
    if (!range.is_array() || range.size() != 2) {
      return recipe_error(at + ".range", fmt::format("is {}, must be [first, end]", show_json(range)));
    }
    ML_TRY(const std::uint64_t first, bound(range[0], at + ".range[0]"));
    ML_TRY(const std::uint64_t end, bound(range[1], at + ".range[1]"));
    if (first > end) {
      return recipe_error(at + ".range", fmt::format("is {} to {}, must not go down", first, end));
    }
    if (end - first > kMaxRecipeEntries) return too_many(at);  // before any of them is made
    variables_.push_back({variable, first});
    for (std::uint64_t value = first; value < end; ++value) {
      variables_.back().value = value;
      ML_CHECK(list(object["entries"], at + ".entries"));
      ML_CHECK(count(at));
    }
    variables_.pop_back();
    return {};
  }

  // Loops over nothing count too, so that no recipe runs for ever.
  Result<void> count(const std::string& at) {
    if (++n_steps_ <= kMaxRecipeEntries) return {};
    return too_many(at);
  }

  static Error too_many(const std::string& at) {
    return recipe_error(at, fmt::format("makes more than {} entries", kMaxRecipeEntries), Status::limit);
  }

  static Error too_long(const std::string& at) {
    return recipe_error(at, fmt::format("makes texts of more than {} bytes", kMaxRecipeBytes), Status::limit);
  }

  Result<std::uint64_t> bound(const json& value, const std::string& at) {
    const json* number = &value;
    if (value.is_object()) {
      ML_TRY(number, files_.value(value, at));
    }
    if (!number->is_number_unsigned()) {
      return recipe_error(at, fmt::format("is {}, must be an integer of 0 or more", show_json(*number)));
    }
    return number->get<std::uint64_t>();
  }

  Result<void> entry(const json& object, const std::string& at) {
    ML_CHECK(check_recipe_keys(object, at, {"name", "file", "path", "encoding"},
                               {"transform", "optional", "rule"}));
    ML_CHECK(count(at));
    RecipeEntry result;
    result.at = at;
    ML_TRY(result.name, text(object["name"], at + ".name"));
    ML_TRY(result.file, text(object["file"], at + ".file"));
    ML_TRY(result.path, text(object["path"], at + ".path"));
    ML_TRY(result.encoding, text(object["encoding"], at + ".encoding"));
    if (object.contains("transform")) {
      const json& transform = object["transform"];
      if (transform.is_array()) {
        for (std::size_t i = 0; i < transform.size(); ++i) {
          ML_TRY(std::string one, text(transform[i], fmt::format("{}.transform[{}]", at, i)));
          result.transforms.push_back(std::move(one));
        }
      } else {
        ML_TRY(std::string one, text(transform, at + ".transform"));
        result.transforms.push_back(std::move(one));
      }
    }
    if (object.contains("optional")) {
      const json& optional = object["optional"];
      if (!optional.is_boolean())
        return recipe_error(at + ".optional",
                            fmt::format("is {}, must be true or false", show_json(optional)));
      result.optional = optional.get<bool>();
    }
    if (object.contains("rule")) {
      ML_TRY(const std::string rule, text(object["rule"], at + ".rule"));
      if (rule != "search" && rule != "round")
        return recipe_error(at + ".rule", fmt::format("is \"{}\", must be search or round", show_name(rule)));
      result.round = rule == "round";
    }
    out_.push_back(std::move(result));
    return {};
  }

  // A string with its variables replaced.
  Result<std::string> text(const json& value, const std::string& at) {
    if (!value.is_string()) return recipe_error(at, fmt::format("is {}, must be a string", show_json(value)));
    std::string_view rest = value.get_ref<const std::string&>();
    std::string result;
    for (;;) {
      const std::size_t open = rest.find_first_of("{}");
      result += rest.substr(0, open);
      if (open == rest.npos) {
        n_bytes_ += result.size() + kRecipeTextBytes;
        if (n_bytes_ > kMaxRecipeBytes) return too_long(at);
        return result;
      }
      const std::size_t close = rest.find('}', open);
      const std::string_view name = rest[open] == '{' && close != rest.npos
                                        ? rest.substr(open + 1, close - open - 1)
                                        : std::string_view();
      const auto found = std::find_if(variables_.begin(), variables_.end(),
                                      [&](const Variable& variable) { return variable.name == name; });
      if (found == variables_.end()) {
        return recipe_error(at, fmt::format("is {}, whose {{{}}} is no variable of a loop around it",
                                            show_json(value), show_name(name)));
      }
      result += fmt::format("{}", found->value);
      rest.remove_prefix(close + 1);
    }
  }

  RecipeFiles& files_;
  std::vector<RecipeEntry>& out_;
  std::vector<Variable> variables_;
  std::set<const json*> searched_;  // entries of loops that mention its variable
  std::size_t n_steps_ = 0;
  std::size_t n_bytes_ = 0;
};

}  // namespace

Result<std::vector<RecipeEntry>> expand_entries(const json& tensors, RecipeFiles& files) {
  std::vector<RecipeEntry> entries;
  ML_CHECK(Expander(files, entries).list(tensors, "tensors"));
  return entries;
}

}  // namespace ml
