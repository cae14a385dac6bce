#include "cli/bundle.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iomanip>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/embedded.hpp"
#include "cli/load.hpp"
#include "cli/plot.hpp"
#include "cli/say.hpp"
#include "experiments/run/artifact.hpp"
#include "experiments/run/run.hpp"
#include "experiments/studies/study.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"
#include "sim/io/file.hpp"

namespace rehearse::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestFigures = 1'000'000;  // bytes of a file of plot commands

std::string without_slash(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

void require_free(const std::string& path) {
  std::error_code none;
  if (fs::exists(fs::symlink_status(path, none)))
    throw sim::InputError({.file = path, .expected = "a folder that is not there yet", .found = "one, or a file"});
}

/// A plot command, and where it stands.
struct FigureLine {
  std::string text, file;
  std::int64_t line = 0;
};

/// The lines of a file of plot commands, without comments and blank ones.
std::vector<FigureLine> figures_of(const std::string& path) {
  std::vector<FigureLine> lines;
  if (path.empty()) return lines;
  std::istringstream in(sim::read_file(path, kLongestFigures));
  std::int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != line.npos && line[first] != '#')
      lines.push_back({line.substr(first, line.find_last_not_of(" \t\r") - first + 1), path, number});
  }
  return lines;
}

/// Draws one: `line` has the arguments of plot, with RESULTS for the results' folder and a figure's name behind -o.
void draw(const std::string& line, const std::string& results, const std::string& folder) {
  const auto refuse = [&](const std::string& expected) { throw sim::InputError({.expected = expected, .found = line}); };
  std::vector<std::string> words{"rehearse", "plot"};
  std::istringstream in(line);
  bool has_results = false, is_name = false, has_name = false;
  for (std::string word; in >> std::quoted(word);) {
    if (word == "RESULTS") word = results, has_results = true;
    if (word == "--data") refuse("no --data, which is left anyway");
    if (is_name) {
      if (word.find('/') != word.npos) refuse("a name without folders behind -o");
      word = folder + "/" + word;
      has_name = true;
    }
    is_name = word == "-o" || word == "--out";
    words.push_back(word);
  }
  if (!has_results || !has_name) refuse("plot's arguments, as in \"cdf RESULTS -o jct.svg\"");
  words.insert(words.end(), {"--data", folder + "/data"});
  std::error_code error;
  fs::create_directories(folder, error);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  CommandLine parser("", "rehearse", std::string(sim::program_version()));
  PlotArguments arguments;
  add_plot_command(parser.program(), arguments);
  const Parsed parsed =
      parser.parse(static_cast<int>(pointers.size()), pointers.data(), [] { return std::vector<std::string>(); });
  if (parsed != Parsed::to_do) refuse("plot's arguments, as in \"cdf RESULTS -o jct.svg\"");
  draw_plot(arguments);
}

/// Draws them all of the results in a scratch folder. What is wrong is told of the line, and of the results as the user knows
/// them.
void draw_all(const std::vector<FigureLine>& lines, const std::string& scratch, const std::string& results) {
  for (const FigureLine& one : lines) try {
      draw(one.text, scratch + "/results", scratch + "/figures");
    } catch (const sim::InputError& error) {
      std::vector<sim::Mistake> mistakes =
          renamed(error, {{scratch + "/results", results}, {scratch + "/figures/", ""}}).mistakes();
      for (sim::Mistake& mistake : mistakes) {
        std::string where = mistake.file;
        if (mistake.line > 0) where += fmt::format(":{}", mistake.line);
        mistake.pointer = where + (where.empty() || mistake.pointer.empty() ? "" : ": ") + mistake.pointer;
        mistake.file = one.file;
        mistake.line = one.line;
        mistake.column = 0;
      }
      throw sim::InputError(std::move(mistakes), error.left_out());
    }
}

/// In the scenario's folder, so that its files are found, and those that the command line named.
void run_again(const scenarios::Artifact& artifact, const std::string& folder, const std::string& out, int processes) {
  const fs::path back = fs::current_path();
  fs::current_path(fs::path(folder) / fs::path(artifact.scenario).parent_path());
  const auto scenario = load({.path = fs::path(artifact.scenario).filename(), .sets = {}, .catalogues = artifact.catalogues});
  const scenarios::RunOptions options{
      .out = out, .processes = processes, .progress = true, .report_page = report_page(), .certify = artifact.certified};
  bool policy_failed = false;  // its row says so
  if (scenario->study)
    scenarios::run_study(*scenario, options, policy_failed);
  else
    scenarios::run_scenario(*scenario, options);
  fs::current_path(back);
}

int differing(const std::vector<scenarios::FileComparison>& comparisons) {
  using Kind = scenarios::FileComparison::Kind;
  int same = 0, others = 0;
  for (const scenarios::FileComparison& one : comparisons) {
    if (one.kind == Kind::same) {
      ++same;
      continue;
    }
    ++others;
    say("  {}: {}\n", one.file,
        one.kind == Kind::missing ? "not made now"
        : one.kind == Kind::added ? "made now, and not there"
                                  : one.difference.words());
  }
  say("  {} of {} the same\n", same, sim::counted(same + others, "file"));
  return others;
}

}  // namespace

void add_bundle_commands(Command app, BundleArguments& bundle, ReproduceArguments& reproduce) {
  Command pack = app.subcommand("bundle", "pack results with all that made them, for a paper's artifact (docs/guide/results.md)");
  pack.option("results", bundle.results, "the results folder of a run").required();
  pack.option("-o,--out", bundle.out, "the folder to make").required();
  pack.option("--inputs", bundle.inputs,
              "folder of the files that the scenario names by relative paths (default: the current one, then the results')");
  pack.option("--figures", bundle.figures, "a file with the arguments of a plot command in each line, RESULTS for the folder");
  Command again = app.subcommand("reproduce", "make the results of a bundle again, and say what differs");
  again.option("folder", reproduce.folder, "the bundle").required();
  again.option("-o,--out", reproduce.out, "also leave the new results and figures in this folder");
  again.flag("--run-programs", reproduce.run_programs, "start the programs that its policies are; they run with your rights");
  again.option("--processes", reproduce.processes, "runs at once (default: as many as there are processors)").range(1, 4096);
}

int bundle_command(const BundleArguments& arguments) {
  const std::string out = without_slash(arguments.out);
  require_free(out);
  const std::vector<FigureLine> figures = figures_of(arguments.figures);
  sim::ScratchFolder scratch(out + ".part");
  scenarios::Artifact artifact = scenarios::pack_artifact(without_slash(arguments.results), arguments.inputs, scratch.path());
  for (const FigureLine& one : figures) artifact.figures.push_back(one.text);
  draw_all(figures, scratch.path(), without_slash(arguments.results));
  scenarios::seal_artifact(artifact, scratch.path());
  scratch.keep_as(out);
  for (const scenarios::ArtifactInput& input : artifact.inputs)
    if (input.packed.empty()) say("not packed: {}: {}\n", input.path, input.why);
  say("{}: {}. Elsewhere: rehearse reproduce {}\n", out, sim::counted(static_cast<double>(artifact.sha256.size() + 1), "file"),
      out);
  return kOk;
}

int reproduce_command(const ReproduceArguments& arguments) {
  const std::string folder = fs::absolute(without_slash(arguments.folder));
  sim::refuse_pipes_in(folder);
  const scenarios::Artifact artifact = scenarios::read_artifact(folder);
  const std::string out = arguments.out.empty() ? std::string() : fs::absolute(without_slash(arguments.out)).string();
  if (!out.empty()) require_free(out);
  if (const auto programs = scenarios::started_programs(folder + "/" + artifact.scenario);
      !programs.empty() && !arguments.run_programs)
    throw sim::InputError({.file = artifact.scenario,
                           .expected = "--run-programs, since its policies are programs, which run with your rights",
                           .found = fmt::format("{}", fmt::join(programs, "; "))});
  const std::vector<std::string> changed = scenarios::changed_files(artifact, folder);
  if (artifact.version != sim::program_version())
    say("made by version {}, this is {}\n", artifact.version, sim::program_version());
  for (const std::string& file : changed) say("changed since it was packed: {}\n", file);

  sim::ScratchFolder scratch(out.empty() ? sim::temporary_stem("rehearse_reproduce") : out + ".part");
  run_again(artifact, folder, scratch / "results", arguments.processes);
  std::vector<FigureLine> figures;
  for (const std::string& text : artifact.figures)
    figures.push_back({.text = text, .file = fmt::format("bundle.json: /figures/{}", figures.size())});
  draw_all(figures, scratch.path(), "the new results");

  say("Results, then and now:\n");
  int others = differing(scenarios::compare_folders(folder + "/results", scratch.path() + "/results"));
  if (!artifact.figures.empty()) {
    say("Figures, then and now:\n");
    others += differing(scenarios::compare_folders(folder + "/figures", scratch.path() + "/figures"));
  }
  if (!out.empty()) scratch.keep_as(out);
  if (others == 0 && changed.empty()) say("Reproduced: the same bytes.\n");
  return others == 0 && changed.empty() ? kOk : kRegression;
}

}  // namespace rehearse::cli
