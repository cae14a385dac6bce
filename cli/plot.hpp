// The command `plot`: figures for papers.
#pragma once

#include <string>

#include "cli/options.hpp"
#include "report/plots/kinds.hpp"

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
int plot_command(const PlotArguments& arguments);

}  // namespace rehearse::cli
