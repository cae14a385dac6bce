#include "report/plots/gnuplot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/policy_name.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

namespace {

/// Each has dashes and a symbol of its own: what is printed in grey can still be told apart.
struct Look {
  std::string_view colour, dashes;
  int symbol, pattern;  ///< pattern 0: a tint
};

/// Paul Tol, "Colour schemes", SRON/EPS/TN/09-002 (2021), "muted" without its sand. The same as in report/html/src/style.css, in
/// the same order: a policy has one colour in the report and here.
constexpr std::array<Look, 8> kLooks{{{"#332288", "1", 7, 0},
                                      {"#44AA99", "(12,4)", 5, 1},
                                      {"#882255", "(3,3)", 9, 2},
                                      {"#CC6677", "(12,4,2,4)", 13, 4},
                                      {"#117733", "(6,3)", 6, 5},
                                      {"#88CCEE", "(2,5)", 4, 6},
                                      {"#AA4499", "(12,4,2,4,2,4)", 8, 7},
                                      {"#999933", "(8,8)", 12, 3}}};
constexpr Look kYardstick{"#777777", "(2,2)", 6, 0};

/// As in report/html/src/palette.js: who is often compared has its colour whoever stands beside it.
constexpr std::pair<std::string_view, std::size_t> kUsualSlots[] = {
    {"manual", 0},          {"fifo", 0}, {"resource-only", 1}, {"easy", 1}, {"batch-only", 2}, {"las", 2},
    {"static-isotonic", 3}, {"sjf", 3},  {"staged-mpc", 4},    {"srtf", 4}, {"staged-rl", 5},  {"edf", 5},
    {"static-isotonic-shared", 6}, {"gavel", 6}};
constexpr std::string_view kUsualYardsticks[] = {"oracle", "staged-oracle", "lower bound"};

constexpr double kOneColumnIn = 3.5, kTwoColumnsIn = 7.16, kTitleIn = 0.2;
constexpr std::string_view kRing = "pt 6 ps 0.7";
constexpr std::array<int, 5> kFilledSymbols{7, 5, 9, 13, 11};  ///< beside rings
// Of the legend, at 7 points: letters as they are drawn, and as gnuplot reckons them (of SVG, whose are the widest) to part
// columns.
constexpr double kLegendLineIn = 0.135, kLetterIn = 0.048, kSampleIn = 0.5, kReckonedLetterIn = 0.058;
constexpr double kReckonedSample = 9;                                     ///< letters beside a name
constexpr double kEdgeIn = 0.15, kHeadingIn = 0.2, kTicLetterIn = 0.066;  ///< left of the axes, at 8 points

bool is_guide(Style style) { return style == Style::guide || style == Style::dashed_guide; }

bool is_cell(Style style) { return style == Style::cells || style == Style::grey_cells; }

/// Of two intervals.
bool is_box(Style style) { return is_cell(style) || style == Style::boxes || style == Style::slices || style == Style::frame; }

/// How many of a row's numbers, of which there are `columns`, lie on the axes.
std::size_t coordinates(Style style, std::size_t columns) {
  if (is_box(style)) return 4;
  return style == Style::ring_line ? 2 : columns;
}

struct Layout {
  double width_in, height_in;
  std::size_t legend_columns;
};

/// A text's characters; bytes that are none count for one each.
std::vector<std::string_view> letters_of(std::string_view text) {
  std::vector<std::string_view> letters;
  for (; !text.empty(); text.remove_prefix(letters.back().size()))
    letters.push_back(text.substr(0, std::max<std::size_t>(1, sim::utf8_length(text))));
  return letters;
}

/// From a picture's left to its axes, where the legend begins.
double left_in(const Axis& y) {
  constexpr std::size_t kFewestDigits = 3;
  std::size_t letters = y.tics.empty() ? kFewestDigits : 0;
  if (y.tics.empty())
    for (const auto& bound : {y.low, y.high}) letters = std::max(letters, fmt::format(" {:.0f}", bound.value_or(0)).size());
  else
    for (const auto& [at, name] : y.tics) letters = std::max(letters, name.size());
  constexpr std::size_t kMostDigits = 8;  // 1.5e+09 from there on
  if (y.tics.empty()) letters = std::min(letters, kMostDigits);
  return kEdgeIn + (y.label.empty() ? 0 : kHeadingIn) + kTicLetterIn * static_cast<double>(letters);
}

/// Of a name in the legend of a picture so wide.
std::size_t most_letters(double width_in, const Axis& y) {
  constexpr double kFewest = 12;
  return static_cast<std::size_t>(std::max(kFewest, (width_in - left_in(y) - kSampleIn) / kLetterIn));
}

/// What stands in the legend for each series: whole names, or head and tail of those that the picture has no room for. Two that
/// would look alike are numbered.
std::vector<std::string> legend_names(const Figure& figure, double width_in, const Axis& y) {
  constexpr std::string_view kGap = "\xe2\x80\xa6";
  const std::size_t most = most_letters(width_in, y);
  std::vector<std::string> names;
  for (const Series& series : figure.series) {
    const std::vector<std::string_view> letters = letters_of(series.name);
    std::string name = series.name;
    if (letters.size() > most) {
      const auto cut = [&](std::size_t letters_kept, const std::string& mark) {
        const std::size_t tail = letters_kept / 2, head = letters_kept - tail;
        return fmt::format("{}{}{}{}", fmt::join(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(head), ""), kGap,
                           mark, fmt::join(letters.end() - static_cast<std::ptrdiff_t>(tail), letters.end(), ""));
      };
      name = cut(most - 1, "");
      for (int n = 2; std::find(names.begin(), names.end(), name) != names.end(); ++n)
        name = cut(most - 2 - std::to_string(n).size(), std::to_string(n) + std::string(kGap));
    }
    names.push_back(name);
  }
  return names;
}

/// The legend stands above the axes, and the picture is so much higher.
Layout layout_of(const Figure& figure, bool two_columns, const Axis& y) {
  Layout layout{
      .width_in = two_columns ? kTwoColumnsIn : kOneColumnIn,
      .height_in = figure.height_in + (figure.title.empty() ? 0 : kTitleIn) + (figure.cells_label.empty() ? 0 : kLegendLineIn),
      .legend_columns = 1};
  std::size_t names = 0, longest = 1;
  for (const Series& series : figure.series) {
    names += !series.name.empty() && !series.rows.empty();
    longest = std::max(longest, series.name.size());
  }
  longest = std::min(longest, most_letters(layout.width_in, y));
  const auto letters = static_cast<double>(longest);
  const double last_in = kSampleIn + kLetterIn * letters, others_in = kReckonedLetterIn * (kReckonedSample + letters);
  const double left_over_in = std::max(0.0, layout.width_in - left_in(y) - last_in);
  layout.legend_columns = 1 + static_cast<std::size_t>(left_over_in / others_in);
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

bool is_of_x(Style style, std::size_t column) {
  if (is_box(style)) return column < 2;
  return column == 0 || (style == Style::cross && (column == 2 || column == 3));
}

/// Of the positive numbers in these columns of the rows: what a logarithmic axis must hold.
Bounds bounds_of(const Figure& figure, bool of_x) {
  Bounds bounds;
  for (const Series& series : figure.series) {
    for (const std::vector<double>& row : series.rows)
      for (std::size_t c = 0; c < coordinates(series.style, row.size()); ++c) {
        if (is_of_x(series.style, c) != of_x || !(row[c] > 0) || !std::isfinite(row[c])) continue;
        bounds.low = std::min(bounds.low, row[c]);
        bounds.high = std::max(bounds.high, row[c]);
      }
  }
  return bounds;
}

/// A bound that would cut a mean or its whisker gives way: gnuplot then bounds the axis by the data.
void free_whiskers(Axis& axis, const Figure& figure, bool of_x) {
  for (const Series& series : figure.series) {
    if (series.style != Style::error_line && series.style != Style::bars && series.style != Style::cross) continue;
    for (const std::vector<double>& row : series.rows)
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (is_of_x(series.style, c) != of_x || !std::isfinite(row[c])) continue;
        if (axis.low && row[c] < *axis.low) axis.low.reset();
        if (axis.high && row[c] > *axis.high) axis.high.reset();
      }
  }
}

/// From 0.0001 to 100000 numbers stand as they are; an axis with others has them all as powers of ten, "2e5".
constexpr double kPlainLow = 1e-4, kPlainHigh = 1e5;

std::string tic_number(double value, bool plain) {
  if (plain) return fmt::format("{:.6g}", value);
  const std::string text = fmt::format("{:.0e}", value);  // 2e+05
  const std::size_t e = text.find('e');
  return fmt::format("{}e{}", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

/// 1, 2 and 5 times powers of ten within [low, high], both positive; without any, the two ends.
std::vector<double> ticks_125(double low, double high) {
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10, power) <= high; ++power)
    for (const double digit : {1, 2, 5})
      if (const double tick = digit * std::pow(10, power); tick >= low && tick <= high) ticks.push_back(tick);
  if (ticks.empty()) ticks = {low, high};
  return ticks;
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

constexpr std::string_view kBox = "using (0.5*($1+$2)):(0.5*($3+$4)):1:2:3:4";

/// Of a box's middle, the number; no exponents where all digits are as short.
constexpr std::string_view kNumber =
    "using (0.5*($1+$2)):(0.5*($3+$4)):(sprintf(abs($5)>=999.5&&abs($5)<1e6?'%.0f':'%.3g',$5)) with labels";

/// By the values themselves, which may be negative.
std::string linear_palette(const Figure& figure) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Series& series : figure.series)
    if (series.style == Style::cells)
      for (const std::vector<double>& row : series.rows) {
        low = std::min(low, row.at(4));
        high = std::max(high, row.at(4));
      }
  if (!(high >= low)) return {};
  const char* colours = figure.bright_high ? "(0 '#4db3c9', 1 '#7fcdbb', 2 '#c7e9b4', 3 '#fffcc0')"
                                           : "(0 '#fffcc0', 1 '#c7e9b4', 2 '#7fcdbb', 3 '#4db3c9')";
  return fmt::format("set palette defined {}\nset cbrange [{:.9g}:{:.9g}]\nunset colorbox\n", colours, low,
                     high > low ? high : low + 1);
}

/// Colours of cells: each is bright enough for black numbers, and the brighter the better in grey as well.
std::string palette(const Figure& figure) {
  if (figure.linear_cells) return linear_palette(figure);
  Bounds values;
  for (const Series& series : figure.series)
    if (series.style == Style::cells)
      for (const std::vector<double>& row : series.rows) {
        values.low = std::min(values.low, row.at(4));
        values.high = std::max(values.high, row.at(4));
      }
  if (!(values.high > 0)) return {};
  return fmt::format(
      "set palette defined (0 '#fffcc0', 1 '#c7e9b4', 2 '#7fcdbb', 3 '#4db3c9')\n"
      "set logscale cb\n"
      "set cbrange [{:.9g}:{:.9g}]\n"
      "unset colorbox\n",
      values.low, std::max(values.high, 1.01 * values.low));
}

/// Marked as one (figure.cpp), or one that everybody calls so.
bool is_yardstick(std::string_view name) {
  return name.find(kYardstickMark) != name.npos ||
         std::find(std::begin(kUsualYardsticks), std::end(kUsualYardsticks), name) != std::end(kUsualYardsticks);
}

/// Of each series of a figure its look: the usual one where that is free, else the first free one; when all are taken, colours
/// begin again with other dashes and symbols.
std::vector<Look> looks_of(const std::vector<Series>& series) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> slots(series.size(), kNone), taken;
  const auto is_free = [&](std::size_t slot) { return std::find(taken.begin(), taken.end(), slot) == taken.end(); };
  const auto take = [&](std::size_t i, std::size_t slot) { taken.push_back(slots[i] = slot); };
  const auto has_look = [&](std::size_t i) {
    return !series[i].rows.empty() && !is_guide(series[i].style) && !is_yardstick(series[i].name);
  };
  for (std::size_t i = 0; i < series.size(); ++i)
    for (const auto& [name, slot] : kUsualSlots)
      if (series[i].name == name && has_look(i) && is_free(slot)) take(i, slot);
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (slots[i] != kNone || !has_look(i)) continue;
    std::size_t slot = 0;
    while (!is_free(slot)) ++slot;
    take(i, slot);
  }
  std::vector<Look> looks;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t slot = slots[i] == kNone ? 0 : slots[i], turn = slot / kLooks.size();
    const Look &colour = kLooks[slot % kLooks.size()], &shape = kLooks[(slot + turn) % kLooks.size()];
    looks.push_back(is_yardstick(series[i].name) ? kYardstick : Look{colour.colour, shape.dashes, shape.symbol, shape.pattern});
  }
  return looks;
}

/// What is drawn of a block; `index` of a named series, for symbols beside rings.
std::string drawing(const Series& series, const Look& look, std::size_t index) {
  const std::string line = fmt::format("lc rgb '{}' dt {} lw 1.5", look.colour, look.dashes);
  const std::string symbol = fmt::format("pt {} ps 0.5", look.symbol);
  switch (series.style) {
    case Style::line:
      return "using 1:2 with lines " + line;
    case Style::line_points:
      return "using 1:2 with linespoints " + line + " " + symbol;
    case Style::ring_line:
      return fmt::format("using 1:($3==0?$2:NaN) with linespoints {} pt {} ps 0.5", line,
                         kFilledSymbols[index % kFilledSymbols.size()]);
    case Style::error_line:
      return "using 1:2 with linespoints " + line + " " + symbol;
    case Style::points:
      return fmt::format("using 1:2 with points lc rgb '{}' {}", look.colour, symbol);
    case Style::cross:
      return fmt::format("using 1:2:3:4:5:6 with xyerrorbars lc rgb '{}' {} lw 0.9", look.colour, symbol);
    case Style::rings:
      return fmt::format("using 1:2 with points lc rgb '{}' {}", look.colour, kRing);
    case Style::steps:
      return "using 1:2 with steps " + line;
    case Style::bars:
      return "using 1:2 with boxes " + filled(look);
    case Style::boxes:
      return fmt::format("{} with boxxyerror {}", kBox, filled(look));
    case Style::slices:
      return fmt::format("{} with boxxyerror lc rgb '{}' fs solid noborder", kBox, look.colour);
    case Style::cells:
      return fmt::format("{}:5 with boxxyerror lc palette fs solid border lc rgb '#ffffff'", kBox);
    case Style::grey_cells:
      return fmt::format("{} with boxxyerror lc rgb '#e0e0e0' fs solid border lc rgb '#ffffff'", kBox);
    case Style::frame:
      return fmt::format("{} with boxxyerror lc rgb '#CC4C02' lw 2.5 fs empty border lc rgb '#CC4C02'", kBox);
    case Style::guide:
      return "using 1:2 with lines lc rgb '#999999' dt 1 lw 0.75";
    case Style::dashed_guide:
      return "using 1:2 with lines lc rgb '#999999' dt (4,4) lw 0.75";
  }
  return {};
}

/// What is drawn of the same block besides.
std::string more_drawing(const Series& series, const Look& look) {
  if (is_cell(series.style)) return fmt::format("{} font ',7'", kNumber);
  if (series.style == Style::ring_line)
    return fmt::format("using 1:($3==0?NaN:$2) with points lc rgb '{}' {}", look.colour, kRing);
  const bool is_bar = series.style == Style::bars;
  if (series.style == Style::error_line || (is_bar && series.rows.front().size() > 2))
    return fmt::format("using 1:3:(0):($4-$3) with vectors heads size graph 0.007,90 lc rgb '{}' lw 0.75",
                       is_bar ? "#000000" : look.colour);
  return {};
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

/// What an axis of names calls the place; empty where numbers stand at it.
std::string tic_at(const Axis& axis, double place) {
  for (const auto& [at, name] : axis.tics)
    if (std::abs(at - place) < 0.5) return name;
  return {};
}

/// Which group, or which row and column, the numbers belong to.
std::string tics_of(const Figure& figure, Style style, const std::vector<double>& values) {
  if (is_guide(style)) return {};
  const bool box = is_box(style);
  const std::string x = tic_at(figure.x, box ? 0.5 * (values[0] + values[1]) : values[0]),
                    y = tic_at(figure.y, box ? 0.5 * (values[2] + values[3]) : values[1]);
  std::string names = x.empty() || y.empty() ? x + y : x + ", " + y;
  std::replace(names.begin(), names.end(), '"', '\'');  // gnuplot would look for where the quote ends
  return names;
}

std::string row(const std::vector<double>& values, const std::string& name) {
  std::string text;
  for (const double value : values)
    text += (text.empty() ? "" : " ") + (std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string("NaN"));
  return name.empty() ? text + "\n" : fmt::format("{} # {}\n", text, plain(name));
}

const char* heads(Style style) {
  switch (style) {
    case Style::error_line:
    case Style::bars:
      return "# x y low high";
    case Style::boxes:
    case Style::slices:
    case Style::frame:
      return "# left right bottom top";
    case Style::cells:
    case Style::grey_cells:
      return "# left right bottom top value";
    case Style::cross:
      return "# x y xlow xhigh ylow yhigh";
    case Style::ring_line:
      return "# x y ring";
    default:
      return "# x y";
  }
}

/// A file beside the script.
std::string here(std::string_view name, std::string_view ending) { return gnuplot_quoted(fmt::format("./{}.{}", name, ending)); }

}  // namespace

bool has_points(const Figure& figure) {
  const auto lies_on = [](const Axis& axis, double value) { return std::isfinite(value) && (!axis.logarithmic || value > 0); };
  const auto is_point = [&](Style style, const std::vector<double>& row) {
    return lies_on(figure.x, row[0]) && lies_on(figure.y, row[is_box(style) ? 2 : 1]);
  };
  return std::any_of(figure.series.begin(), figure.series.end(), [&](const Series& series) {
    return !is_guide(series.style) &&
           std::any_of(series.rows.begin(), series.rows.end(), [&](const auto& row) { return is_point(series.style, row); });
  });
}

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
  Axis x = figure.x, y = figure.y;
  free_whiskers(x, figure, true);
  free_whiskers(y, figure, false);
  tighten(x, bounds_of(figure, true));
  tighten(y, bounds_of(figure, false));
  Axis reach = y;  // of an axis that gnuplot bounds by the data
  const Bounds data_bounds = bounds_of(figure, false);
  if (!reach.low && std::isfinite(data_bounds.low)) reach.low = data_bounds.low;
  if (!reach.high && std::isfinite(data_bounds.high)) reach.high = data_bounds.high;
  const Layout layout = layout_of(figure, setting.two_columns, reach);
  const double small = setting.format == PlotFormat::svg ? 9.3 : 7.0;
  std::string text = fmt::format(
      "# Made by rehearse plot. Change it, then run gnuplot on it in its folder.\n"
      "set encoding utf8\n"
      "set terminal {}\n"
      "set output {}\n"
      "set border 3 lw 0.75\n"
      "set tics nomirror out scale 0.5\n"
      "set grid back lc rgb '#dddddd' dt 1 lw 0.5\n"
      "set key above left Left reverse samplen 2 maxcols {} font ',{:g}'\n"
      "set boxwidth {:.4g}\n"
      "set rmargin 2.5\n",
      terminal(layout, setting.format), here(setting.name, ending_of(setting.format)), layout.legend_columns, small,
      figure.bar_width);
  text += axis_text('x', x) + axis_text('y', y) + palette(figure);
  const bool has_label = !figure.cells_label.empty();
  if (!figure.title.empty())
    text += fmt::format("set title {}{}\n", gnuplot_quoted(figure.title), has_label ? " offset 0,0.9" : "");
  if (has_label)
    text += fmt::format("set label {} at graph 0,1 left offset 0,0.6 font ',{:g}'\nset tmargin {:g}\n",
                        gnuplot_quoted(figure.cells_label), small, figure.title.empty() ? 1.7 : 3.2);
  const std::string data = here(setting.name, "dat");
  std::string plots;
  const std::vector<Look> looks = looks_of(figure.series);
  const std::vector<std::string> names = legend_names(figure, layout.width_in, reach);
  std::size_t named = 0;
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    const Series& series = figure.series[i];
    if (series.rows.empty()) continue;
    const std::string title = series.name.empty() ? "notitle" : "title " + gnuplot_quoted(names[i]);
    plots += fmt::format("{}{} index {} {} {}", plots.empty() ? "plot " : ", \\\n     ", data, i,
                         drawing(series, looks[i], named), title);
    if (const std::string more = more_drawing(series, looks[i]); !more.empty())
      plots += fmt::format(", \\\n     {} index {} {} notitle", data, i, more);
    if (!is_guide(series.style)) ++named;
  }
  return text + plots + "\n";
}

std::string gnuplot_data(const Figure& figure) {
  std::string text = figure.note.empty() ? "" : fmt::format("# {}\n", plain(figure.note));
  std::string_view separator;
  for (const Series& series : figure.series) {
    text += fmt::format("{}# {}\n{}\n", separator, plain(series.name), heads(series.style));
    separator = "\n\n";
    for (const std::vector<double>& values : series.rows) text += row(values, tics_of(figure, series.style, values));
    // gnuplot does not count blocks without data.
    if (series.rows.empty()) text += "NaN NaN NaN NaN\n";
  }
  return text;
}

}  // namespace rehearse::report
