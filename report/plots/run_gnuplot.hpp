// gnuplot, as a program beside ours.
#pragma once

#include <string>
#include <vector>

#include "report/plots/gnuplot.hpp"

namespace rehearse::report {

struct GnuplotRun {
  std::string script, data;
  PlotSetting setting;
  std::string out;  ///< the figure's file
};

/// Runs the script in a folder of its own and moves the figure into place. The same script gives the same bytes, PDF included.
/// Throws sim::InputError: gnuplot is not there, or cannot draw this; the figure cannot be written.
void run_gnuplot(const GnuplotRun& run);

/// Each as FOLDER/NAME.svg, as wide as two columns; one without points has no file. What gnuplot does not draw is left out:
/// returns a line about that and how to get it, empty when all are there. Throws sim::InputError when a file cannot be written.
std::string draw_figures(const std::vector<NamedFigure>& figures, const std::string& folder);

}  // namespace rehearse::report
