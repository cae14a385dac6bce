#include "report/plots/run_gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

namespace fs = std::filesystem;

namespace {

constexpr int kNotThere = 127;

/// In the child; what gnuplot says goes to a file, its own start-up files are not read.
[[noreturn]] void become_gnuplot(const std::string& folder, const std::string& script) {
  const int said = ::open((folder + "/said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (said >= 0 && nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(said, STDOUT_FILENO) >= 0 &&
      ::dup2(said, STDERR_FILENO) >= 0 && ::chdir(folder.c_str()) == 0)
    ::execlp("gnuplot", "gnuplot", "-d", script.c_str(), static_cast<char*>(nullptr));
  ::_exit(kNotThere);
}

int run_in(const std::string& folder, const std::string& script) {
  const pid_t child = ::fork();
  if (child == 0) become_gnuplot(folder, script);
  if (child < 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  ///< of a figure

/// Cairo 1.16 puts the date into a PDF, as plain text; another of the same length changes nothing else.
std::string undated(std::string figure) {
  constexpr std::string_view kKey = "/CreationDate (D:", kDate = "20000101000000";
  const std::size_t at = figure.find(kKey);
  if (at != std::string::npos && at + kKey.size() + kDate.size() < figure.size())
    figure.replace(at + kKey.size(), kDate.size(), kDate);
  return figure;
}

/// Why there is no figure; none: there is one, in run.out.
struct Undrawn {
  bool is_there = false;  ///< gnuplot
  std::string said;       ///< by it
};

/// Works in a folder of its own, of this stem.
std::optional<Undrawn> draw(const GnuplotRun& run, const std::string& stem) {
  const sim::ScratchFolder folder(stem);
  const std::string figure = folder / (run.setting.name + "." + std::string(ending_of(run.setting.format)));
  sim::write_file(folder / "script", run.script);
  sim::write_file(folder / (run.setting.name + ".dat"), run.data);
  const int status = run_in(folder.path(), "script");
  if (status == kNotThere) return Undrawn{};
  if (status != 0 || !fs::exists(figure) || fs::file_size(figure) == 0) {
    std::string said = sim::read_file(folder / "said", kMostBytes);
    said.erase(said.find_last_not_of(" \n") + 1);
    return Undrawn{.is_there = true, .said = sim::printable(said, 400)};
  }
  sim::write_file(run.out, undated(sim::read_file(figure, kMostBytes)));
  return std::nullopt;
}

}  // namespace

void run_gnuplot(const GnuplotRun& run) {
  const std::optional<Undrawn> undrawn = draw(run, sim::temporary_stem("rehearse_plot"));
  if (!undrawn) return;
  if (!undrawn->is_there)
    throw sim::InputError({.file = run.out,
                           .expected = "the program gnuplot, which draws it (Debian and Ubuntu: apt-get install gnuplot-nox)",
                           .found = "none in the path"});
  throw sim::InputError({.file = run.out, .expected = "a figure from gnuplot", .found = undrawn->said});
}

std::string draw_figures(const std::vector<NamedFigure>& figures, const std::string& folder) {
  const PlotSetting setting{.format = PlotFormat::svg, .two_columns = true, .name = "figure"};
  std::string left_out;
  for (const auto& [name, figure] : figures) {
    if (!has_points(figure)) continue;
    const std::string file = name + "." + std::string(ending_of(setting.format));
    const std::optional<Undrawn> undrawn = draw({.script = gnuplot_script(figure, setting),
                                                 .data = gnuplot_data(figure),
                                                 .setting = setting,
                                                 .out = (fs::path(folder) / file).string()},
                                                (fs::path(folder) / "rehearse_plot").string());
    if (!undrawn) continue;
    if (!undrawn->is_there)
      return "Figures are left out: gnuplot, which draws them, is not installed (Debian and Ubuntu: apt-get install "
             "gnuplot-nox).";
    left_out += (left_out.empty() ? "Figures are left out, which gnuplot does not draw: " : "; ") + file + ": " + undrawn->said;
  }
  return left_out;
}

}  // namespace rehearse::report
