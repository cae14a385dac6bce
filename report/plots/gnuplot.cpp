#include "report/plots/gnuplot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/line_plot.hpp"
#include "sim/read/shown.hpp"

namespace rehearse::report {

namespace {

/// Okabe and Ito (2008), without the yellow, which is faint on paper. Each has dashes and a symbol of its own: what is printed in
/// grey can still be told apart.
struct Look {
  const char* colour;
  const char* dashes;
  int symbol, pattern;  ///< pattern 0: a tint
};
constexpr std::array<Look, 8> kLooks{{{"#000000", "1", 7, 0},
                                      {"#0072B2", "(12,4)", 5, 1},
                                      {"#D55E00", "(3,3)", 9, 2},
                                      {"#009E73", "(12,4,2,4)", 13, 4},
                                      {"#CC79A7", "(6,3)", 6, 5},
                                      {"#E69F00", "(2,5)", 4, 6},
                                      {"#56B4E9", "(12,4,2,4,2,4)", 8, 7},
                                      {"#777777", "(8,8)", 12, 3}}};

constexpr double kOneColumnIn = 3.5, kTwoColumnsIn = 7.16, kHeightIn = 2.2, kTallIn = 3.4;
constexpr double kLegendLineIn = 0.135, kLetterIn = 0.048, kSampleIn = 0.38;  ///< of the legend, at 7 points

bool is_guide(Style style) { return style == Style::guide || style == Style::dashed_guide; }

struct Layout {
  double width_in, height_in;
  std::size_t legend_columns;
};

/// The legend stands above the axes, and the picture is so much higher.
Layout layout_of(const Figure& figure, bool two_columns) {
  Layout layout{.width_in = two_columns ? kTwoColumnsIn : kOneColumnIn,
                .height_in = figure.tall ? kTallIn : kHeightIn,
                .legend_columns = 1};
  std::size_t names = 0, longest = 1;
  for (const Series& series : figure.series) {
    names += !series.name.empty() && !series.rows.empty();
    longest = std::max(longest, series.name.size());
  }
  const double entry_in = kSampleIn + kLetterIn * static_cast<double>(longest);
  layout.legend_columns = std::max<std::size_t>(1, static_cast<std::size_t>((layout.width_in - 0.4) / entry_in));
  layout.height_in += kLegendLineIn * std::ceil(static_cast<double>(names) / static_cast<double>(layout.legend_columns));
  return layout;
}

std::string terminal(const Layout& layout, PlotFormat format) {
  switch (format) {
    case PlotFormat::pdf:
      return fmt::format("pdfcairo noenhanced color size {:.3f}in,{:.3f}in font 'Helvetica,8' linewidth 1", layout.width_in,
                         layout.height_in);
    case PlotFormat::svg:  // CSS pixels, 96 to the inch
      return fmt::format(
          "svg noenhanced size {:.0f},{:.0f} font 'Helvetica,Arial,sans-serif,10.5' linewidth 1 background '#ffffff'",
          96 * layout.width_in, 96 * layout.height_in);
    case PlotFormat::png:  // 300 pixels to the inch
      return fmt::format(
          "pngcairo noenhanced size {:.0f},{:.0f} font 'Helvetica,8' fontscale 3 linewidth 3.2 pointscale 3 background '#ffffff'",
          300 * layout.width_in, 300 * layout.height_in);
  }
  return {};
}

/// Tic labels are formats: a per cent sign stands for itself when it is doubled.
std::string tic_label(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? "%%" : std::string(1, c);
  return gnuplot_quoted(doubled);
}

struct Bounds {
  double low = std::numeric_limits<double>::infinity(), high = 0;
};

/// Of the positive numbers in these columns of the rows: what a logarithmic axis must hold.
Bounds bounds_of(const Figure& figure, bool of_x) {
  Bounds bounds;
  for (const Series& series : figure.series) {
    const bool is_box = series.style == Style::boxes;
    for (const std::vector<double>& row : series.rows)
      for (std::size_t c = 0; c < row.size(); ++c) {
        const bool is_x = is_box ? c < 2 : c == 0;
        if (is_x != of_x || !(row[c] > 0) || !std::isfinite(row[c])) continue;
        bounds.low = std::min(bounds.low, row[c]);
        bounds.high = std::max(bounds.high, row[c]);
      }
  }
  return bounds;
}

/// From 0.0001 to 100000 numbers stand as they are; an axis with others has them all as powers of ten, "2e5".
constexpr double kPlainLow = 1e-4, kPlainHigh = 1e5;

std::string tic_number(double value, bool plain) {
  if (plain) return fmt::format("{:.6g}", value);
  const std::string text = fmt::format("{:.0e}", value);  // 2e+05
  const std::size_t e = text.find('e');
  return fmt::format("{}e{}", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

/// Left to itself, gnuplot widens a logarithmic axis to whole decades. Within half a decade nothing needs one.
void tighten(Axis& axis, const Bounds& bounds) {
  if (axis.tics.empty() && bounds.high < 5 * bounds.low) axis.logarithmic = false;
  if (!axis.logarithmic || !(bounds.high > 0)) return;
  if (!axis.low) axis.low = bounds.low / 1.12;
  if (!axis.high) axis.high = bounds.high * 1.12;
  if (!axis.tics.empty() || *axis.high / *axis.low > 500) return;
  const std::vector<double> tics = ticks_125(*axis.low, *axis.high);
  const bool plain = tics.front() > 0.99 * kPlainLow && tics.back() < 1.01 * kPlainHigh;
  for (const double tic : tics) axis.tics.emplace_back(tic, tic_number(tic, plain));
}

std::string axis_text(char name, const Axis& axis) {
  std::string text = fmt::format("set {}label {}\n", name, gnuplot_quoted(axis.label));
  if (axis.logarithmic) text += fmt::format("set logscale {} 10\n", name);
  const auto bound = [](std::optional<double> value) { return value ? fmt::format("{:.6g}", *value) : "*"; };
  if (axis.low || axis.high) text += fmt::format("set {}range [{}:{}]\n", name, bound(axis.low), bound(axis.high));
  // Tics are gnuplot's own, at decades.
  if (axis.logarithmic && axis.tics.empty() && axis.low && axis.high &&
      (*axis.low <= kPlainLow / 10 || *axis.high >= 10 * kPlainHigh))
    text += fmt::format("set format {} '1e%T'\n", name);
  if (axis.tics.empty()) return text;
  text += fmt::format("set {}tics {}(", name, axis.slanted_tics ? "rotate by 35 right " : "");
  for (std::size_t i = 0; i < axis.tics.size(); ++i)
    text += fmt::format("{}{} {:.10g}", i == 0 ? "" : ", ", tic_label(axis.tics[i].second), axis.tics[i].first);
  return text + ")\n";
}

std::string filled(const Look& look) {
  const std::string fill = look.pattern == 0 ? "solid 0.35" : fmt::format("pattern {}", look.pattern);
  return fmt::format("lc rgb '{0}' lw 0.75 fs {1} border lc rgb '{0}'", look.colour, fill);
}

/// What is drawn of a block; `index` of a named series, for its looks.
std::string drawing(const Series& series, std::size_t index) {
  const Look& look = kLooks[index % kLooks.size()];
  const std::string line = fmt::format("lc rgb '{}' dt {} lw 1.5", look.colour, look.dashes);
  const std::string symbol = fmt::format("pt {} ps 0.5", look.symbol);
  switch (series.style) {
    case Style::line:
      return "using 1:2 with lines " + line;
    case Style::line_points:
      return "using 1:2 with linespoints " + line + " " + symbol;
    case Style::error_line:
      return "using 1:2 with linespoints " + line + " " + symbol;
    case Style::points:
      return fmt::format("using 1:2 with points lc rgb '{}' {}", look.colour, symbol);
    case Style::steps:
      return "using 1:2 with steps " + line;
    case Style::bars:
      return "using 1:2 with boxes " + filled(look);
    case Style::boxes:
      return "using (0.5*($1+$2)):(0.5*($3+$4)):1:2:3:4 with boxxyerror " + filled(look);
    case Style::guide:
      return "using 1:2 with lines lc rgb '#999999' dt 1 lw 0.75";
    case Style::dashed_guide:
      return "using 1:2 with lines lc rgb '#999999' dt (4,4) lw 0.75";
  }
  return {};
}

std::string row(const std::vector<double>& values) {
  std::string text;
  for (const double value : values)
    text += (text.empty() ? "" : " ") + (std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string("NaN"));
  return text + "\n";
}

const char* heads(Style style) {
  switch (style) {
    case Style::error_line:
    case Style::bars:
      return "# x y low high";
    case Style::boxes:
      return "# left right bottom top";
    default:
      return "# x y";
  }
}

/// One line of printable UTF-8.
std::string plain(std::string_view text) {
  std::string out;
  const bool readable = sim::is_utf8(text);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f || (!readable && byte >= 0x80) ? '?' : c;
  }
  return out;
}

/// A file beside the script.
std::string here(std::string_view name, std::string_view ending) { return gnuplot_quoted(fmt::format("./{}.{}", name, ending)); }

}  // namespace

std::string_view ending_of(PlotFormat format) {
  constexpr std::array<std::string_view, 3> kEndings{"pdf", "svg", "png"};
  return kEndings[static_cast<std::size_t>(format)];
}

std::string gnuplot_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : plain(text)) out += c == '\'' ? "\xe2\x80\x99" : std::string(1, c);
  return out + "'";
}

std::string plot_name(std::string_view stem) {
  std::string name;
  for (const char c : stem) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    name += kept ? c : '_';
  }
  return name.empty() ? "figure" : name;
}

std::string gnuplot_script(const Figure& figure, const PlotSetting& setting) {
  const Layout layout = layout_of(figure, setting.two_columns);
  std::string text = fmt::format(
      "# Made by rehearse plot. Change it, then run gnuplot on it in its folder.\n"
      "set encoding utf8\n"
      "set terminal {}\n"
      "set output {}\n"
      "set datafile missing 'NaN'\n"
      "set border 3 lw 0.75\n"
      "set tics nomirror out scale 0.5\n"
      "set grid back lc rgb '#dddddd' dt 1 lw 0.5\n"
      "set key above left Left reverse samplen 2 maxcols {} font ',{:g}'\n"
      "set boxwidth {:.4g}\n"
      "set rmargin 2.5\n",
      terminal(layout, setting.format), here(setting.name, ending_of(setting.format)), layout.legend_columns,
      setting.format == PlotFormat::svg ? 9.3 : 7.0, figure.bar_width);
  Axis x = figure.x, y = figure.y;
  tighten(x, bounds_of(figure, true));
  tighten(y, bounds_of(figure, false));
  text += axis_text('x', x) + axis_text('y', y);
  const std::string data = here(setting.name, "dat");
  std::string plots;
  std::size_t named = 0;
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    const Series& series = figure.series[i];
    if (series.rows.empty()) continue;
    const std::string title = series.name.empty() ? "notitle" : "title " + gnuplot_quoted(series.name);
    plots += fmt::format("{}{} index {} {} {}", plots.empty() ? "plot " : ", \\\n     ", data, i, drawing(series, named), title);
    if (series.style == Style::bars || series.style == Style::error_line)
      plots += fmt::format(
          ", \\\n     {} index {} using 1:3:(0):($4-$3) with vectors heads size graph 0.007,90 lc rgb '{}' lw 0.75 notitle", data,
          i, series.style == Style::bars ? "#000000" : kLooks[named % kLooks.size()].colour);
    if (!is_guide(series.style)) ++named;
  }
  return text + plots + "\n";
}

std::string gnuplot_data(const Figure& figure) {
  std::string text;
  for (const Series& series : figure.series) {
    text += fmt::format("{}# {}\n{}\n", text.empty() ? "" : "\n\n", plain(series.name), heads(series.style));
    for (const std::vector<double>& values : series.rows) text += row(values);
    // gnuplot does not count blocks without data.
    if (series.rows.empty()) text += "NaN NaN NaN NaN\n";
  }
  return text;
}

}  // namespace rehearse::report
