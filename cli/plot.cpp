#include "cli/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/say.hpp"
#include "experiments/run/results_place.hpp"
#include "experiments/sweep/database.hpp"
#include "report/plots/gnuplot.hpp"
#include "report/plots/run_gnuplot.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

namespace fs = std::filesystem;

sim::InputError renamed(const sim::InputError& error, const std::vector<std::pair<std::string, std::string>>& names) {
  std::vector<sim::Mistake> mistakes = error.mistakes();
  for (sim::Mistake& mistake : mistakes)
    for (std::string* text : {&mistake.file, &mistake.pointer, &mistake.expected, &mistake.found})
      for (const auto& [from, to] : names)
        for (std::size_t at = 0; (at = text->find(from, at)) != text->npos; at += to.size()) text->replace(at, from.size(), to);
  return sim::InputError(std::move(mistakes), error.left_out());
}

namespace {

std::string list_of_kinds() {
  std::string text = "KIND is one of\n";
  for (const report::PlotKind& kind : report::plot_kinds())
    text += two_columns(std::string(kind.name), std::string(kind.help), 12);
  return text + "It needs gnuplot.";
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const report::PlotKind& kind : report::plot_kinds()) names.push_back(kind.name);
  return names;
}

report::PlotFormat format_of(const std::string& out) {
  for (const report::PlotFormat format : {report::PlotFormat::pdf, report::PlotFormat::svg, report::PlotFormat::png})
    if (fs::path(out).extension() == "." + std::string(ending_of(format))) return format;
  throw sim::InputError({.file = "-o", .expected = "a file that ends in .pdf, .svg or .png", .found = out});
}

std::vector<report::Condition> conditions(const std::vector<std::string>& where) {
  std::vector<report::Condition> list;
  for (const std::string& one : where) {
    const auto equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw sim::InputError({.file = "--where", .expected = "COLUMN=VALUE", .found = one});
    list.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  return list;
}

/// The rows of a sweep's database, as a file that kinds can read; gone with this.
class ExportedRows {
 public:
  explicit ExportedRows(report::PlotRequest& request)
      : folder_(sim::temporary_stem("rehearse_rows")), database_(request.results.front()) {
    csv_ = folder_ / (fs::path(database_).filename().string() + ".csv");
    request.swept = scenarios::export_sweep(database_, csv_);
    if (request.swept.empty())  // of one point
      throw sim::InputError({.file = database_, .expected = "a sweep of some value", .found = "one of none"});
    request.results.front() = csv_;
  }

  /// The error with the database in the place of the file, of which nobody knows lines.
  sim::InputError of_database(const sim::InputError& error) const {
    std::vector<sim::Mistake> mistakes = renamed(error, {{csv_, database_}}).mistakes();
    for (sim::Mistake& mistake : mistakes)
      if (mistake.file == database_) mistake.line = mistake.column = 0;
    return sim::InputError(std::move(mistakes), error.left_out());
  }

 private:
  sim::ScratchFolder folder_;
  std::string database_, csv_;
};

/// Null when no database is among the results.
std::unique_ptr<ExportedRows> export_rows(report::PlotRequest& request) {
  for (const std::string& results : request.results)
    if (scenarios::is_database(results)) {
      if (request.results.size() > 1)
        throw sim::InputError({.file = results, .expected = "the database of a sweep alone", .found = "other results beside it"});
      return std::make_unique<ExportedRows>(request);
    }
  return nullptr;
}

}  // namespace

void add_plot_command(Command app, PlotArguments& arguments) {
  Command plot = app.subcommand("plot", "draw a figure for a paper, of results");
  plot.option("kind", arguments.kind, "what is drawn").required().choices(kind_names());
  plot.option("results", arguments.request.results, "folders of results, a file of the kind's, or the database of a sweep")
      .required();
  plot.output("-o,--out", arguments.out, "the figure: FILE.pdf, FILE.svg or FILE.png").required();
  plot.option("--size", arguments.size, "one-column (3.5 in, the default) or two-column (7.16 in)")
      .choices({"one-column", "two-column"});
  plot.option("--where", arguments.where, "COLUMN=VALUE: only these rows; may be repeated, of one column for each of its values")
      .repeated();
  plot.option("--x", arguments.request.x, "another column than the kind's; of a sweep as /switching/start_s");
  plot.option("--y", arguments.request.y, "another column than the kind's; another quantity, of savings");
  plot.option("--by", arguments.request.by, "the column that tells series, groups or points apart");
  plot.option("--value", arguments.request.value, "the column that colours a heat map");
  plot.option("--relative-to", arguments.request.relative_to,
              "a policy: draw its number over each one's own, paired over repetitions (a speed-up, of completion times)");
  plot.option("--higher", arguments.request.higher, "column of which more is better, of pareto; may be repeated").repeated();
  plot.option("--data", arguments.data, "also leave gnuplot's script and its data in this folder, to change them");
  plot.footer(list_of_kinds());
}

std::string draw_plot(const PlotArguments& arguments) {
  const report::PlotSetting setting{.format = format_of(arguments.out),
                                    .two_columns = arguments.size == "two-column",
                                    .name = report::plot_name(fs::path(arguments.out).stem().string())};
  report::PlotRequest request = arguments.request;
  request.where = conditions(arguments.where);
  const auto& kinds = report::plot_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const report::PlotKind& k) { return k.name == arguments.kind; });
  for (const std::string& folder : request.results) scenarios::check_results(folder);
  const std::unique_ptr<ExportedRows> rows = export_rows(request);
  const report::Figure figure = [&] {
    try {
      check_request(*kind, request);
      report::Figure drawn = figure_of(*kind, request);
      if (!has_points(drawn))
        throw sim::InputError({.file = request.results.front(), .expected = "something to draw", .found = "no points"});
      return drawn;
    } catch (const sim::InputError& error) {
      if (rows == nullptr) throw;
      throw rows->of_database(error);
    }
  }();
  const std::string script = gnuplot_script(figure, setting), data = gnuplot_data(figure);
  if (!arguments.data.empty()) {
    std::error_code error;
    fs::create_directories(arguments.data, error);
    sim::write_file(sim::without_link(arguments.data + "/" + setting.name + ".gp"), script);
    sim::write_file(sim::without_link(arguments.data + "/" + setting.name + ".dat"), data);
  }
  report::run_gnuplot({.script = script, .data = data, .setting = setting, .out = arguments.out});
  std::string told;
  if (!figure.note.empty()) told = fmt::format(": {}{}", figure.note, kind->takes.where ? " (--where chooses)" : "");
  if (figure.has_lone_runs) told += "; no interval where a mean is of one run (\"repetitions\" in the scenario makes more)";
  return told;
}

int plot_command(const PlotArguments& arguments) {
  const std::string note = draw_plot(arguments);
  say("{}{}\n", arguments.out, note);
  return kOk;
}

}  // namespace rehearse::cli
