#include "cli/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/say.hpp"
#include "scenarios/read/convergence_json.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/shown.hpp"
#include "traces/measurements/convergence_list.hpp"
#include "workloads/calibration/convergence_validation.hpp"
#include "workloads/calibration/error_summary.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/training/recipes.hpp"

namespace rehearse::cli {
namespace {

using workloads::BatchErrors;
using workloads::MeasuredPair;
using workloads::PairErrors;
using workloads::TargetError;

std::string fixed(double x, const char* format) { return std::isfinite(x) ? fmt::format(fmt::runtime(format), x) : "-"; }

/// In per cent. An infinite median stands for targets that are never predicted to be reached.
std::string percent_or_never(double error) {
  return std::isnan(error) ? "-" : std::isinf(error) ? "never reached" : fmt::format("{:.1f}", 100 * error);
}

std::string steps_error(const std::vector<workloads::StepCheck>& steps) {
  double worst = 0;
  for (const workloads::StepCheck& s : steps)
    if (std::abs(s.predicted_over_measured - 1) >= std::abs(worst)) worst = s.predicted_over_measured - 1;
  return steps.empty() ? "-" : fmt::format("{:+.2f}", 100 * worst);
}

void print_batches(const PairErrors& errors) {
  if (std::none_of(errors.batches.begin(), errors.batches.end(), [](const BatchErrors& b) { return b.evaluations > 0; })) return;
  say("  {:>8}{:>6}{:>14}{:>9}{:>9}{:>21}{:>24}\n", "batch", "rows", "metric error", "bias", "targets", "examples to them, %",
      "steps after epoch 5, %");
  for (const BatchErrors& b : errors.batches) {
    if (b.evaluations == 0) continue;
    say("  {:>8}{:>6}{:>14.4f}{:>+9.4f}{:>9}{:>21}{:>24}{}\n", b.batch, b.evaluations, b.metric_error, b.metric_bias,
        b.examples_errors.size(), percent_or_never(workloads::quantile(b.examples_errors, 0.5)), steps_error(b.steps),
        b.inner ? "" : "  edge");
  }
  say("  inner batches: metric off by {} on average, median error of the examples to a target {} %\n",
      fixed(errors.metric_error(true), "{:.4f}"), percent_or_never(errors.examples_error(true)));
  say("  all batches:   metric off by {} on average, median error of the examples to a target {} %\n",
      fixed(errors.metric_error(false), "{:.4f}"), percent_or_never(errors.examples_error(false)));
}

/// Epochs to each target, in lines.
void print_targets(const PairErrors& errors) {
  if (errors.targets.empty()) return;
  say("  {:>8}{:>8}{:>10}{:>8}{:>11}{:>8}\n", "batch", "target", "measured", "runs", "predicted", "error");
  const auto epochs = [](double x) { return std::isfinite(x) ? fmt::format("{:.1f}", x) : std::string("never"); };
  double last = 0;
  for (const TargetError& t : errors.targets) {
    const bool reached = t.measured.is_reached();
    const bool both = reached && std::isfinite(t.predicted_epochs);
    const std::string error = both ? fmt::format("{:+.0f} %", 100 * (t.predicted_epochs / t.measured.mean_epochs - 1))
                              : reached == std::isfinite(t.predicted_epochs) ? "agrees"
                                                                             : "differs";
    say("  {:>8}{:>8}{:>10}{:>8}{:>11}{:>8}{}\n", last == t.batch ? "" : fmt::format("{}", t.batch), t.measured.target,
        epochs(reached ? t.measured.mean_epochs : NAN),
        fmt::format("{}/{}", t.measured.reached, t.measured.reached + t.measured.never), epochs(t.predicted_epochs), error,
        t.inner || last == t.batch ? "" : "  edge");
    last = t.batch;
  }
  const auto differs = [](const TargetError& t) { return t.measured.is_reached() != std::isfinite(t.predicted_epochs); };
  say("  median error of the epochs to a target: inner batches {} %, all {} %; reached or never differs for {} of {}\n",
      percent_or_never(errors.epochs_error(true)), percent_or_never(errors.epochs_error(false)),
      std::count_if(errors.targets.begin(), errors.targets.end(), differs), errors.targets.size());
}

void print(const PairErrors& errors) {
  print_batches(errors);
  print_targets(errors);
}

std::vector<MeasuredPair> load_pairs(const std::string& path) {
  const traces::ConvergenceList list = traces::read_convergence(path);
  say("{}", to_string(list));
  return pairs_of(list.rows);
}

void print_fit(const workloads::FittedConvergence& fitted) {
  say("  {:<34}{:>12}   {}\n", "parameter", "fitted", "one standard deviation");
  for (const auto& p : fitted.fitted)
    say("  {:<34}{:>12.4g}   {}\n", p.name, p.value,
        p.determined ? fmt::format("{:.4g} to {:.4g}", p.low, p.high) : "not determined by these rows: as usual");
  for (const std::string& warning : fitted.warnings) say("  badly determined: {}\n", warning);
}

}  // namespace

std::vector<std::string> import_convergence_formats() {
  std::vector<std::string> names;
  for (const traces::ConvergenceFormat& format : traces::convergence_formats()) names.emplace_back(format.name);
  return names;
}

int import_convergence(const ImportArguments& arguments) {
  const auto formats = traces::convergence_formats();
  const auto format = std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return f.name == arguments.format; });
  sim::check(format != formats.end(), "a format that the command line should have refused");
  std::string text = traces::convergence_header();
  std::size_t rows = 0;
  for (const traces::ConvergenceList& list : format->read(arguments.paths)) {
    say("{}", to_string(list));
    for (const workloads::ConvergencePoint& p : list.rows) text += traces::convergence_row(p);
    rows += list.rows.size();
  }
  if (rows == 0)
    throw sim::InputError({.file = arguments.paths.front(), .expected = "at least one row that can be used", .found = "none"});
  sim::write_file(arguments.out, text);
  say("{}: {}\n", arguments.out, sim::counted(static_cast<double>(rows), "row"));
  return kOk;
}

namespace {

/// Null: without --recipe.
const workloads::Recipe* asked_recipe(const ValidateArguments& arguments) {
  if (arguments.recipe.empty()) return nullptr;
  if (arguments.hold_out != "nothing")
    throw sim::InputError({.file = "--recipe",
                           .expected = "no --hold-out: batches that are held out are told from the others",
                           .found = arguments.hold_out});
  std::vector<std::string> names;
  for (const workloads::Recipe& recipe : workloads::recipes()) names.push_back(recipe.name);
  const workloads::Recipe* found = find_recipe(workloads::recipes(), arguments.recipe);
  if (found == nullptr)
    throw sim::InputError({.file = "--recipe",
                           .expected = "a recipe (rehearse list recipes)",
                           .found = sim::shown(arguments.recipe),
                           .nearest = sim::nearest_name(arguments.recipe, names)});
  return found;
}

}  // namespace

int validate_convergence(const ValidateArguments& arguments) {
  if (arguments.hold_out == "models" || !arguments.rows.empty())
    throw sim::InputError({.file = arguments.measured.path,
                           .expected = "of measured trainings, --hold-out batches or nothing, and no --rows",
                           .found = arguments.hold_out == "models" ? "--hold-out models" : "--rows"});
  const bool hold_out = arguments.hold_out == "batches";
  const workloads::Recipe* const recipe = asked_recipe(arguments);
  for (const MeasuredPair& pair : load_pairs(arguments.measured.path)) {
    say("\n{} on {}\n", pair.model, pair.dataset);
    const workloads::ConvergenceParameters* known = workloads::find_convergence(pair.model, pair.dataset);
    if (hold_out && pair.batches().size() > 1) {
      const PairErrors errors = hold_out_batches(pair);
      say("  each batch is predicted by a fit to the others, of {} parameters\n", errors.fitted_parameters);
      print(errors);
    } else if (hold_out) {
      say("  left out: a single batch size, of which none can be held back\n");
    } else if (known != nullptr && recipe != nullptr) {
      say("  by the recipe {}, at its most useful rates\n", recipe->name);
      print(compare(pair, with_recipe(*known, *recipe), pair.batches()));
    } else if (known != nullptr) {
      say("  with the program's own parameters\n");
      print(compare(pair, *known, pair.batches()));
    } else {
      say("  left out: the program has no parameters of its own for it (fit them: --hold-out batches, or calibrate)\n");
    }
  }
  return kOk;
}

int calibrate_convergence(const CalibrateArguments& arguments) {
  std::vector<workloads::ConvergenceParameters> fitted;
  for (const MeasuredPair& pair : load_pairs(arguments.measured.path)) {
    say("\n{} on {}, batches {}\n", pair.model, pair.dataset, fmt::join(pair.batches(), ", "));
    const workloads::FittedConvergence fit = fit_convergence(pair, reference_batch_of(pair));
    print_fit(fit);
    print(compare(pair, fit.parameters, pair.batches()));
    fitted.push_back(fit.parameters);
    fitted.back().source = fmt::format("calibrated on {}", arguments.measured.path);
  }
  sim::write_file(arguments.out, scenarios::convergence_json(fitted));
  say("\n{}: convergence of {} pairs; a scenario takes the list under \"convergence\"\n", arguments.out, fitted.size());
  return kOk;
}

}  // namespace rehearse::cli
