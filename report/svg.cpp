#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/xml_text.hpp"

namespace rehearse::report {

namespace {

std::string paint(const Mark& mark) {
  return fmt::format(R"(fill="{}" stroke="{}" stroke-width="{:.1f}")", mark.fill, mark.stroke, mark.stroke_width);
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title)
    : text_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                        "<title>{2}</title>\n",
                        width, height, xml_text(title))) {
  rectangle(0, 0, width, height, {.fill = "#ffffff"});
}

void Svg::rectangle(double x, double y, double width, double height, const Mark& mark) {
  text_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n", x, y, width, height, paint(mark));
}

void Svg::circle(double x, double y, double radius, const Mark& mark) {
  text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>\n", x, y, radius, paint(mark));
}

void Svg::polyline(const std::vector<std::pair<double, double>>& points, const Mark& mark) {
  std::string path;
  for (const auto& [x, y] : points) path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
  text_ += fmt::format("<polyline points=\"{}\" {}/>\n", path, paint(mark));
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view fill) {
  constexpr std::array<std::string_view, 3> kAnchors{"start", "middle", "end"};
  text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y,
                       kAnchors[static_cast<std::size_t>(anchor)], fill, xml_text(text));
}

std::string Svg::finish() && { return std::move(text_) + "</svg>\n"; }

std::string viridis(double position) {
  // matplotlib's map at 0, 1/4, ..., 1; linear between.
  constexpr std::array<std::array<double, 3>, 5> kStops{
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  const double at = std::clamp(position, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(kStops.size() - 2, static_cast<std::size_t>(at));
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i)
    rgb[i] = static_cast<int>(std::lround(std::lerp(kStops[below][i], kStops[below + 1][i], at - static_cast<double>(below))));
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

bool is_bright(double position) { return position > 0.6; }

std::string_view distinct_colour(std::size_t index) {
  constexpr std::array<std::string_view, 10> kColours{"#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00",
                                                      "#0072b2", "#cc79a7", "#f0e442", "#999999", "#5c2e00"};
  return kColours[index % kColours.size()];
}

}  // namespace rehearse::report
