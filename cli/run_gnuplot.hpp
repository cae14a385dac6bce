// gnuplot, as a program beside ours.
#pragma once

#include <string>

#include "report/plots/gnuplot.hpp"

namespace rehearse::cli {

struct GnuplotRun {
  std::string script, data;
  report::PlotSetting setting;
  std::string out;  ///< the figure's file
};

/// Runs the script in a folder of its own and moves the figure into place. The same script gives the same bytes, PDF included.
/// Throws sim::InputError: gnuplot is not there, or cannot draw this; the figure cannot be written.
void run_gnuplot(const GnuplotRun& run);

}  // namespace rehearse::cli
