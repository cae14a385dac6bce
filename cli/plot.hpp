// The command `plot`: figures for papers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "report/plots/kinds.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::cli {

struct PlotArguments {
  std::string kind;
  report::PlotRequest request;  ///< but for `where`
  std::vector<std::string> where;
  std::string out;  ///< FILE.pdf, .svg or .png
  std::string size = "one-column";
  std::string data;  ///< a folder for script and data; may be empty
};

void add_plot_command(Command app, PlotArguments& arguments);
/// What is to be told behind the figure's name; may be empty. Throws sim::InputError.
std::string draw_plot(const PlotArguments& arguments);
/// The error with other names for files, where it names them: of a copy that no user knows, the file that was copied.
sim::InputError renamed(const sim::InputError& error, const std::vector<std::pair<std::string, std::string>>& names);
int plot_command(const PlotArguments& arguments);

}  // namespace rehearse::cli
