// A plot of lines over logarithmic axes, as a picture.
#pragma once

#include <string>
#include <vector>

namespace rehearse::report {

struct PlotPoint {
  double x = 0, y = 0;  ///< positive; a point that is not finite is left out
  bool hollow = false;  ///< drawn as a ring, and no line leads to it
};

struct PlotLine {
  std::string name;
  std::vector<PlotPoint> points;  ///< by x
};

struct LinePlot {
  std::string title;
  std::string x_heading, y_heading;
  std::vector<PlotLine> lines;
};

/// SVG.
std::string line_plot_svg(const LinePlot& plot);

/// 1, 2 and 5 times powers of ten within [low, high], both positive; without any, the two ends.
std::vector<double> ticks_125(double low, double high);

}  // namespace rehearse::report
