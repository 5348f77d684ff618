#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

/// Looks for options of llama.cpp's tools that have one dash and several letters (-ngl 99). Here a dash and a
/// letter are an option and the rest its value, so that -ngl would be `-n gl`.
///
/// @param arguments  the command line in its order; values of the app's options are passed over
/// @return what is wrong: the option, and the one that does the same here where there is one; "" without any
std::string llama_option_problem(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace cli
