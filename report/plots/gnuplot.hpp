// A figure as gnuplot's script and data. No text of a user's can leave its quotes.
#pragma once

#include <string>
#include <string_view>

#include "report/plots/figure.hpp"

namespace rehearse::report {

enum class PlotFormat { pdf, svg, png };

struct PlotSetting {
  PlotFormat format = PlotFormat::svg;
  bool two_columns = false;  ///< 7.16 in wide instead of 3.5 in, the columns of IEEE; ACM's are a little narrower
  std::string name;          ///< of the files, a plot_name: NAME.gp, NAME.dat, NAME.svg
};

std::string_view ending_of(PlotFormat format);

/// Reads NAME.dat and writes NAME.svg (or .pdf, .png) in the folder in which it is run.
std::string gnuplot_script(const Figure& figure, const PlotSetting& setting);
/// A block for each series: a line with its name, then its rows; blocks are two empty lines apart.
std::string gnuplot_data(const Figure& figure);

/// In single quotes, where gnuplot knows neither escapes nor substitutions. A quote becomes a typographic one (doubled ones are
/// misread by gnuplot 5.4 where a text begins with one), control characters and what is no UTF-8 become "?".
std::string gnuplot_quoted(std::string_view text);

/// A name for the files that no program takes for anything else: letters, digits, "-", "." and "_".
std::string plot_name(std::string_view stem);

}  // namespace rehearse::report
