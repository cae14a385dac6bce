// A picture as SVG text, element by element. Lengths are in pixels, y grows downwards; numbers have one decimal, so that the same
// picture is the same bytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rehearse::report {

enum class Anchor { start, middle, end };

struct Mark {
  std::string_view fill = "none";
  std::string_view stroke = "none";
  double stroke_width = 1;
};

/// A picture's size, and what is left around the part that data are drawn in.
struct PlotFrame {
  double width, height, left, right, top, bottom;
};

class Svg {
 public:
  /// White, with the title for screen readers.
  Svg(double width, double height, std::string_view title);
  void rectangle(double x, double y, double width, double height, const Mark& mark);
  void circle(double x, double y, double radius, const Mark& mark);
  void polyline(const std::vector<std::pair<double, double>>& points, const Mark& mark);
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start, std::string_view fill = "#222222");
  std::string finish() &&;

 private:
  std::string text_;
};

/// A colour "#rrggbb" of the viridis map (perceptually uniform, readable with any colour vision), 0 dark to 1 bright.
std::string viridis(double position);
/// Whether black is easier to read on this colour of viridis than white.
bool is_bright(double position);

/// Eight colours of Okabe and Ito (2008) that are told apart with any colour vision, a grey and a dark brown; then from the first
/// again.
std::string_view distinct_colour(std::size_t index);

}  // namespace rehearse::report
