#include "common/llama_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cli {

namespace {

// Of llama-cli, llama-completion, llama-perplexity, llama-imatrix, llama-bench and llama-server: those that
// another option does the work of, in tools that have it,
constexpr auto kOtherwise = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"-bf", "--file"},
    {"-cnv", "--chat"},
    {"-ctk", "--kv"},
    {"-ctkd", "--kv"},
    {"-ctv", "--kv"},
    {"-ctvd", "--kv"},
    {"-if", "--chat"},
    {"-lv", "--verbose"},
    {"-md", "--draft"},
    {"-np", "--parallel"},
    {"-ofreq", "--save-every"},
    {"-st", "--chat"},
    {"-sys", "--system"},
    {"-tb", "--threads"},
    {"-tbd", "--threads"},
    {"-td", "--threads"},
    {"-ub", "--batch"},
});
// and the others.
constexpr auto kMissing = std::to_array<std::string_view>(
    {"-Cb",    "-Cbd",   "-Cd",     "-Cr",   "-Crb",  "-Crbd", "-Crd",   "-ag",    "-bs",     "-cb",
     "-cl",    "-cmoe",  "-cmoed",  "-cms",  "-co",   "-cram", "-ctxcp", "-dev",   "-devd",   "-dio",
     "-dr",    "-dt",    "-embd",   "-fa",   "-fit",  "-fitc", "-fitp",  "-fitt",  "-gan",    "-gaw",
     "-hf",    "-hfd",   "-hff",    "-hfr",  "-hfrd", "-hft",  "-jf",    "-kvo",   "-kvu",    "-lcd",
     "-lcs",   "-lm",    "-lzm",    "-mg",   "-mli",  "-mm",   "-mmdev", "-mmp",   "-mmu",    "-mu",
     "-ncffn", "-ncmoe", "-ncmoed", "-ndio", "-ngl",  "-ngld", "-nkvo",  "-no-ag", "-no-cnv", "-no-kvu",
     "-nocb",  "-nopo",  "-npl",    "-npp",  "-nr",   "-ns",   "-ntg",   "-oe",    "-ot",     "-otd",
     "-pg",    "-pps",   "-ptc",    "-rea",  "-rpc",  "-sm",   "-sp",    "-sps",   "-sysf",   "-tgs",
     "-to",    "-ts"});

std::size_t n_values(const CLI::Option* option) {
  return option == nullptr ? 0 : static_cast<std::size_t>(option->get_items_expected_min());
}

// Arguments after this one that are its values.
std::size_t values_after(const CLI::App& app, const std::string& argument) {
  if (argument.starts_with("--"))
    return argument.find('=') == std::string::npos ? n_values(app.get_option_no_throw(argument)) : 0;
  for (std::size_t i = 1; i < argument.size(); ++i) {
    const std::size_t n = n_values(app.get_option_no_throw(std::string("-") + argument[i]));
    if (n > 0) return i + 1 == argument.size() ? n : n - 1;
  }
  return 0;
}

}  // namespace

std::string llama_option_problem(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-') continue;
    const auto otherwise = std::find_if(kOtherwise.begin(), kOtherwise.end(),
                                        [&](const auto& row) { return row.first == argument; });
    if (otherwise != kOtherwise.end() && app.get_option_no_throw(std::string(otherwise->second)) != nullptr) {
      return fmt::format("{}: an option of llama.cpp; {} has {}, see ml-from-llama(7)", argument,
                         app.get_name(), otherwise->second);
    }
    if (otherwise != kOtherwise.end() ||
        std::find(kMissing.begin(), kMissing.end(), argument) != kMissing.end()) {
      return fmt::format("{}: an option of llama.cpp that {} does not have, see ml-from-llama(7)", argument,
                         app.get_name());
    }
    i += values_after(app, argument);
  }
  return "";
}

}  // namespace cli
