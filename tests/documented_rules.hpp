#pragma once

#include "catch.hpp"
#include "data.hpp"

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

/// The defects that the section VALIDATION of a format's page lists, each "- DEFECT (STATUS)", and those that
/// a test has cases of: a defect without a case fails, and so does a case of what the page does not list.
class DocumentedRules {
 public:
  /// @param page  of section 5: "mli"
  explicit DocumentedRules(const std::string& page) {
    const std::string text =
        std::regex_replace(read_file(data_path("../../man/" + page + ".5.scd")), std::regex(R"(\\)"), "");
    const std::size_t begin = text.find("\n# VALIDATION\n");
    REQUIRE(begin != std::string::npos);
    const std::string section = std::regex_replace(
        text.substr(begin + 1, text.find("\n# ", begin + 1) - begin), std::regex("\n  "), " ");
    const std::regex item(R"(\n- (.*) \((ML_E_[A-Z]+)\)(?=\n))");
    for (std::sregex_iterator it(section.begin(), section.end(), item), end; it != end; ++it)
      rules_.push_back({(*it)[1], (*it)[2]});
    REQUIRE_FALSE(rules_.empty());
  }

  /// A case of this defect, and what was said of it.
  void met(std::string_view defect, std::string_view message) {
    CAPTURE(std::string(defect), std::string(message));
    const auto rule =
        std::find_if(rules_.begin(), rules_.end(), [&](const Rule& one) { return one.defect == defect; });
    REQUIRE(rule != rules_.end());
    CHECK(message.find(rule->status) != std::string_view::npos);
    rule->is_met = true;
  }

  void check_all_met() const {
    for (const Rule& rule : rules_) {
      CAPTURE(rule.defect);
      CHECK(rule.is_met);
    }
  }

 private:
  struct Rule {
    std::string defect, status;
    bool is_met = false;
  };
  std::vector<Rule> rules_;
};
