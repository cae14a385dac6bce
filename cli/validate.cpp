#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cli/commands.hpp"
#include "cli/convergence.hpp"
#include "cli/measured.hpp"
#include "cli/say.hpp"
#include "cli/validate_tables.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/output_file.hpp"
#include "traces/measurements/convergence_list.hpp"
#include "traces/measurements/native.hpp"
#include "workloads/calibration/energy.hpp"
#include "workloads/calibration/error_summary.hpp"
#include "workloads/calibration/validation.hpp"

namespace rehearse::cli {
namespace {

using workloads::Compared;
using workloads::Measurement;
using workloads::Predicted;

struct Baseline {
  const char* name;
  double Predicted::*field;
};

/// A table of one row for each value of a key.
struct Table {
  const char* title;
  const char* first_column;
  std::function<std::string(const Measurement&)> key;
  std::function<bool(const Measurement&)> wanted;
  Baseline shown;
  std::vector<Baseline> beside;
  bool of_kernels = false;
};

using Rows = std::map<std::string, std::vector<std::size_t>>;

workloads::ErrorSummary summary(const Measured& measured, const std::vector<Predicted>& predicted, double Predicted::*field,
                                const std::vector<std::size_t>& rows) {
  std::vector<Compared> pairs;
  for (const std::size_t i : rows)
    if (std::isfinite(predicted[i].*field)) pairs.push_back({predicted[i].*field, measured.list.rows[i].step_s});
  return workloads::summarise(pairs);
}

std::string percent(double x) { return std::isfinite(x) ? fmt::format("{:.1f}", 100 * x) : "-"; }

constexpr double kNinety = 1.645;  // standard deviations to both sides

/// How many of a hundred rows lie in the interval that should hold ninety.
std::string percent_inside(const Measured& measured, const std::vector<Predicted>& predicted,
                           const std::vector<std::size_t>& rows) {
  double inside = 0, counted = 0;
  for (const std::size_t i : rows) {
    if (!std::isfinite(predicted[i].log_sd)) continue;
    ++counted;
    inside += std::abs(std::log(predicted[i].model_s / measured.list.rows[i].step_s)) <= kNinety * predicted[i].log_sd;
  }
  return counted > 0 ? fmt::format("{:.0f}", 100 * inside / counted) : "-";
}

/// Correlation of the ranks of seconds a sample: are the rows in their order?
std::string rank(const Measured& measured, const std::vector<Predicted>& predicted, const std::vector<std::size_t>& rows) {
  std::vector<double> ours, theirs;
  for (const std::size_t i : rows) {
    const Measurement& m = measured.list.rows[i];
    ours.push_back(predicted[i].model_s / m.batch_per_worker);
    theirs.push_back(m.step_s / m.batch_per_worker);
  }
  const double correlation = workloads::rank_correlation(ours, theirs);
  return std::isfinite(correlation) ? fmt::format("{:.2f}", correlation) : "-";
}

void print(const Table& table, const Measured& measured, const std::vector<Predicted>& predicted) {
  Rows rows;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (table.wanted(measured.list.rows[i]) && std::isfinite(predicted[i].*table.shown.field))
      rows[table.key(measured.list.rows[i])].push_back(i);
  if (rows.empty()) return;
  const bool steps = table.shown.field == &Predicted::model_s && !table.beside.empty();
  const bool kernels = table.of_kernels;  // whose errors others publish as means
  say("\n{}, errors in %\n{:<34} {:>5} {:>8} {:>7} {:>8}", table.title, table.first_column, "rows", "median", "p90", "bias");
  if (steps) say(" {:>7} {:>6}", "in 90 %", "rank");
  if (kernels) say(" {:>6}", "mean");
  for (const Baseline& b : table.beside) say(" {:>15}", b.name);
  say("\n");
  for (const auto& [key, indices] : rows) {
    const auto s = summary(measured, predicted, table.shown.field, indices);
    say("{:<34} {:>5} {:>8} {:>7} {:>+8.1f}", key, s.rows, percent(s.median), percent(s.p90), 100 * s.bias);
    if (steps) say(" {:>7} {:>6}", percent_inside(measured, predicted, indices), rank(measured, predicted, indices));
    if (kernels) say(" {:>6}", percent(s.mean));
    for (const Baseline& b : table.beside) say(" {:>15}", percent(summary(measured, predicted, b.field, indices).median));
    say("\n");
  }
}

/// The measurements' own columns behind the predictions, so that rows stand together when sorted by error.
void write_rows(const std::string& path, const Measured& measured, const std::vector<Predicted>& predicted) {
  const auto number = [](double x) { return std::isfinite(x) ? fmt::format("{}", x) : std::string(); };
  std::string text =
      "line,subject,status,predicted_s,error,low_s,high_s,predicted_w,scaled_s,perfect_linear_s," + traces::native_header();
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const Measurement& m = measured.list.rows[i];
    const Predicted& p = predicted[i];
    const double either_way = std::exp(kNinety * p.log_sd);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}", m.line, subject(m), name_of(p.ground), number(p.model_s),
                        number(p.model_s / m.step_s - 1), number(p.model_s / either_way), number(p.model_s * either_way),
                        number(p.power_w), number(p.scaled_s), number(p.perfect_linear_s), traces::native_row(m));
  }
  sim::write_file(path, text);
}

bool single(const Measurement& m) { return m.workers == 1 && !m.kernel; }
bool several(const Measurement& m) { return m.workers > 1; }
bool kernel(const Measurement& m) { return m.kernel.has_value(); }

/// "gemm", "conv", "rnn", "elementwise", "softmax": without the pass.
std::string kind(const Measurement& m) {
  constexpr const char* kKinds[] = {"", "conv", "rnn", "", ""};  // in Kernel's order; empty: as the subject has it
  const std::string known = kKinds[m.kernel->index()];
  return known.empty() ? subject(m) : known;
}

std::vector<Table> tables() {
  const Baseline model{"model", &Predicted::model_s}, scaled{"speed-up", &Predicted::scaled_s};
  const std::vector<Baseline> steps{{"straight line", &Predicted::straight_line_s},
                                    {"FLOPs only", &Predicted::flops_only_s},
                                    {"regression", &Predicted::regression_s}};
  const std::vector<Baseline> kernels{{"FLOPs only", &Predicted::flops_only_s}, {"regression", &Predicted::regression_s}};
  const std::vector<Baseline> linear{{"perfect linear", &Predicted::perfect_linear_s}};
  const auto device = [](const Measurement& m) { return m.device; };
  const auto with_subject = [](const Measurement& m) { return m.device + " " + subject(m); };
  const auto with_batch = [](const Measurement& m) { return fmt::format("{} {:>5}", m.device, m.batch_per_worker); };
  const auto with_threads = [](const Measurement& m) { return fmt::format("{} {:>5}", m.device, m.threads); };
  const auto threaded = [](const Measurement& m) { return single(m) && m.threads > 0; };
  const auto threaded_kernel = [](const Measurement& m) { return kernel(m) && m.threads > 0; };
  const auto with_workers = [](const Measurement& m) {
    return fmt::format("{} {:>2} x {}", m.device, m.nodes, m.workers_per_node);
  };
  const auto with_instance = [](const Measurement& m) { return m.instance.empty() ? m.device : m.instance; };
  const auto with_kind = [](const Measurement& m) { return m.device + " " + kind(m); };
  return {{"Seconds a step of one worker, by device", "device", device, single, model, steps},
          {"By device and model", "device, model", with_subject, single, model, steps},
          {"By device and batch", "device, batch", with_batch, single, model, steps},
          {"By device and threads", "device, threads", with_threads, threaded, model, steps},
          {"Seconds a step of several workers, by device and model", "device, model", with_subject, several, model, {}},
          {"Against one worker's measured time, by device and model", "device, model", with_subject, several, scaled, linear},
          {"Against one worker's measured time, by instance", "instance", with_instance, several, scaled, linear},
          {"Against one worker's measured time, by workers", "device, nodes x workers", with_workers, several, scaled, linear},
          {"Kernels, by kind", "kind", kind, kernel, model, kernels, true},
          {"Kernels, by device and kind", "device, kind", with_kind, kernel, model, kernels, true},
          {"Kernels, by device and pass", "device, pass", with_subject, kernel, model, kernels, true},
          {"Kernels, by device and threads", "device, threads", with_threads, threaded_kernel, model, kernels, true}};
}

void print_columns() {
  say("Columns of a CSV file of measurements; what stands in brackets is taken where a field is empty.\n\n");
  for (const traces::MeasurementColumn& c : traces::measurement_columns())
    say("{:<18}{}{}\n", c.name, c.what, c.required ? "; required" : "");
  for (const traces::MeasurementExample& e : traces::measurement_examples()) say("\nExample: {}\n\n{}", e.of, e.csv);
}

}  // namespace

int validate_command(const ValidateArguments& arguments) {
  if (arguments.columns) {
    print_columns();
    return kOk;
  }
  if (arguments.measured.path.empty())
    throw sim::InputError({.file = "rehearse validate", .expected = "a CSV file of measurements", .found = "none"});
  if (traces::is_convergence(arguments.measured.path)) return validate_convergence(arguments);
  if (!arguments.recipe.empty())
    throw sim::InputError(
        {.file = "--recipe", .expected = "measured trainings: steps have no recipe", .found = arguments.recipe});
  const Measured measured = load_measured(arguments.measured);
  slipped_units(measured);
  std::optional<workloads::HoldOut> hold_out;
  if (arguments.hold_out == "batches") hold_out = workloads::HoldOut::batches;
  if (arguments.hold_out == "models") hold_out = workloads::HoldOut::models;
  if (arguments.hold_out == "limits") hold_out = workloads::HoldOut::limits;
  if (arguments.hold_out == "devices") hold_out = workloads::HoldOut::devices;
  if (arguments.hold_out == "stacks") hold_out = workloads::HoldOut::stacks;
  if (hold_out && arguments.stack != scenarios::kNoStack)
    throw sim::InputError(
        {.file = "--stack", .expected = "no --hold-out beside it, which fits software itself", .found = "both"});
  if (hold_out == workloads::HoldOut::stacks)
    say("What each laboratory measured with a stack is predicted by data sheets and the other laboratories' rows with it.\n");
  else if (hold_out == workloads::HoldOut::devices)
    say("Each device is predicted by its data sheet and what the other devices' rows say of models and software.\n");
  else
    say("{}\n", hold_out ? fmt::format("Each device is calibrated on its rows but the {} held back, which are predicted.",
                                       arguments.hold_out == "limits" ? "power limits" : arguments.hold_out)
                         : "Devices are as the catalogue has them.");
  const std::vector<workloads::Site> sites = hold_out ? measured.sites : sites_on_stacks(measured, arguments.stack);
  const std::vector<sim::Stack>& stacks = measured.catalogue.stacks();
  const std::vector<Predicted> predicted = predict(measured.list.rows, sites, measured.model, hold_out, stacks);
  const auto is_predicted = [](const Predicted& p) { return std::isfinite(p.model_s); };
  if (hold_out == workloads::HoldOut::devices && std::ranges::none_of(predicted, is_predicted))
    say("\nrows of one worker are needed on two devices of a kind: nobody says anything of another\n");
  if (hold_out == workloads::HoldOut::stacks) print_stacks(measured.list.rows, measured.sites, stacks, predicted);
  for (const Table& table : tables()) print(table, measured, predicted);
  print_energy(measured.list.rows, predicted);
  print_knees(measured.list.rows, predicted);
  if (!arguments.rows.empty()) write_rows(arguments.rows, measured, predicted);
  return kOk;
}

}  // namespace rehearse::cli
