#include "experiments/studies/threads_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "report/statistics.hpp"
#include "report/plots/timeline.hpp"
#include "sim/base/random.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::scenarios {

namespace {

using sim::kNan;
/// A local rise and fall again by less is not seen in a measurement.
constexpr double kUnimodalTolerance = 0.005;

/// Gains over recommended that the paper prints for its KNL (Liu et al., IPDPS 2019), from memory.
double published_gain_percent(const ThreadCase& one) {
  if (one.cpu->name.find("knl") == std::string::npos) return kNan;
  for (const auto& [model, gain] :
       {std::pair{"resnet50", 49.0}, std::pair{"dcgan", 34.0}, std::pair{"inception-v3", 17.0}, std::pair{"rnnlm", 43.0}})
    if (one.model == model) return gain;
  return kNan;
}

const char* phase_name(sim::Phase phase) {
  return phase == sim::Phase::forward ? "forward" : phase == sim::Phase::backward ? "backward" : "update";
}

bool unimodal(const sim::CpuBelief& truth, int op_class) {
  const int best = truth.best(op_class, truth.cores);
  double lowest = truth.alone(op_class, 1), highest = truth.alone(op_class, best);
  for (int k = 2; k <= best; ++k) {
    if (truth.alone(op_class, k) > lowest * (1 + kUnimodalTolerance)) return false;
    lowest = std::min(lowest, truth.alone(op_class, k));
  }
  for (int k = best; k <= truth.cores; ++k) {
    if (truth.alone(op_class, k) < highest * (1 - kUnimodalTolerance)) return false;
    highest = std::max(highest, truth.alone(op_class, k));
  }
  return true;
}

report::Timeline cores_timeline(const ThreadCase& one, const sim::CpuTimeline& timeline) {
  report::Timeline rows{.title = fmt::format("{} on {}: cores of one step", one.model, one.machine)};
  // A row for each hardware thread that is used besides a core's own.
  const int cores = one.step.machine.cores;
  for (int core = 0; core < cores; ++core) rows.rows.push_back(fmt::format("core {}", core));
  std::vector<int> spare_row(static_cast<std::size_t>(cores), -1);
  for (const sim::CpuTimeline::Run& run : timeline.runs) {
    const sim::Op& op = one.graph->ops[static_cast<std::size_t>(run.op)];
    for (const sim::CpuTimeline::Share& share : timeline.cores_of(run)) {
      int row = share.core;
      if (run.spare) {
        int& spare = spare_row[static_cast<std::size_t>(share.core)];
        if (spare < 0) {
          spare = static_cast<int>(rows.rows.size());
          rows.rows.push_back(fmt::format("core {}, spare threads", share.core));
        }
        row = spare;
      }
      rows.slices.push_back({.row = row,
                             .name = fmt::format("{} ({} threads)", op.name, run.threads),
                             .start_s = sim::seconds_of(run.start),
                             .end_s = sim::seconds_of(run.end),
                             .kind = static_cast<int>(op.kind)});
    }
  }
  return rows;
}

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names{"convolution",  "matrix product", "recurrent", "normalisation", "pooling",
                                              "element-wise", "softmax",        "embedding", "update",        "variable"};
  return names;
}

}  // namespace

policies::StepBench ThreadCase::bench(std::string_view purpose) const {
  const std::string entity = fmt::format("{}/{}/{}", cpu->name, graph->name, purpose);
  return {step,
          *cpu,
          batch,
          {.deviation = noise,
           .counter_deviation = counter_noise,
           .key = sim::stream_key(seed, static_cast<std::uint64_t>(repetition), "thread profiling", entity)}};
}

double ThreadCase::step_s(const sim::CpuPlan& plan, sim::CpuTimeline* timeline) const {
  return sim::time_cpu_step(step.graph, *step.costs, step.machine, plan, timeline).makespan_s();
}

double ThreadCase::over_exhaustive_percent(const sim::CpuBelief& truth, const sim::CpuBelief& belief) const {
  double chosen_s = 0, best_s = 0;
  for (const std::int32_t c : step.graph.class_of) {
    chosen_s += truth.alone(c, belief.best(c, truth.cores));
    best_s += truth.alone(c, truth.best(c, truth.cores));
  }
  return 100 * (chosen_s / best_s - 1);
}

report::Table strategies_table() {
  return {.name = "threads-strategies",
          .title = "One step over recommended (gain = recommended / this - 1)",
          .columns = {{"machine", "machine"},
                      {"model", "model"},
                      {"strategy", "strategy"},
                      {"step_s", "step, s"},
                      {"gain_percent", "gain, %", "{:.1f}"},
                      {"profiling_steps", "profiling steps", "{:g}"},
                      {"profiling_s", "", "{:.3g}"},
                      {"gain_charged_percent", "with profiling, %", "{:.1f}"},
                      {"published_gain_percent", "paper, %", "{:.0f}"}}};
}

void add_strategy_row(const ThreadCase& one, double recommended_s, const ThreadOutcome& outcome, report::Table& table) {
  const double whole_s = one.steps * outcome.step_s + outcome.profiling_s - outcome.profiling_steps * outcome.step_s;
  table.rows.push_back({one.machine, one.model, outcome.strategy, outcome.step_s, 100 * (recommended_s / outcome.step_s - 1),
                        static_cast<double>(outcome.profiling_steps), outcome.profiling_s,
                        100 * (one.steps * recommended_s / whole_s - 1),
                        outcome.strategy == "all" ? published_gain_percent(one) : kNan});
}

report::Table estimators_table() {
  return {.name = "threads-estimators",
          .title = "Threads chosen one by one from noisy profiling, against the true best of every operation",
          .columns = {{"machine", "machine"},
                      {"model", "model"},
                      {"estimator", "estimator"},
                      {"profiling_steps", "profiling steps", "{:g}"},
                      {"over_exhaustive_percent", "slower by, %", "{:.2f}"},
                      {"curve_error_median", "error of times, median", "{:.3f}"},
                      {"curve_error_p90", "p90", "{:.3f}"}}};
}

void add_estimator_row(const ThreadCase& one, const std::string& estimator, const policies::StepBench& bench,
                       const sim::CpuBelief& truth, const sim::CpuBelief& belief, report::Table& table) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < truth.alone_s.size(); ++i) errors.push_back(std::abs(belief.alone_s[i] / truth.alone_s[i] - 1));
  table.rows.push_back({one.machine, one.model, estimator, static_cast<double>(bench.steps()),
                        one.over_exhaustive_percent(truth, belief), report::quantile(errors, 0.5),
                        report::quantile(errors, 0.9)});
}

report::Table classes_table() {
  return {.name = "threads",
          .title = {},
          .columns = {{"machine", ""},
                      {"model", ""},
                      {"op", ""},
                      {"kind", ""},
                      {"phase", ""},
                      {"operations", ""},
                      {"best_threads", ""},
                      {"hill_climbing_threads", ""},
                      {"regression_threads", ""},
                      {"plan_threads", ""},
                      {"best_s", ""},
                      {"all_cores_s", ""},
                      {"one_thread_s", ""}}};
}

void add_class_rows(const ThreadCase& one, const sim::CpuBelief& truth, const std::vector<sim::CpuBelief>& believed,
                    const sim::CpuPlan& plan, report::Table& table) {
  const auto& classes = one.step.classes;
  for (int c = 0; c < one.step.costs->classes(); ++c) {
    const auto first = static_cast<std::size_t>(classes.first_op[static_cast<std::size_t>(c)]);
    const sim::Op& op = one.graph->ops[first];
    const int best = truth.best(c, truth.cores);
    const auto believed_best = [&](std::size_t i) {
      return i < believed.size() ? static_cast<double>(believed[i].best(c, truth.cores)) : kNan;
    };
    table.rows.push_back({one.machine, one.model, op.name, kind_names()[static_cast<std::size_t>(op.kind)],
                          std::string(phase_name(op.phase)),
                          static_cast<double>(std::count(classes.class_of.begin(), classes.class_of.end(), c)),
                          static_cast<double>(best), believed_best(0), believed_best(1), static_cast<double>(plan.threads[first]),
                          truth.alone(c, best), truth.alone(c, truth.cores), truth.alone(c, 1)});
  }
}

report::Table curves_table() {
  return {.name = "threads-curves",
          .title = {},
          .columns = {{"machine", ""}, {"model", ""}, {"operation", ""}, {"kind", ""}, {"threads", ""}, {"seconds", ""}}};
}

void add_curves(const ThreadCase& one, const sim::CpuBelief& truth, report::Table& table) {
  const auto& classes = one.step.classes;
  std::vector<std::pair<double, int>> by_time;
  for (int c = 0; c < one.step.costs->classes(); ++c) {
    const auto operations = static_cast<double>(std::count(classes.class_of.begin(), classes.class_of.end(), c));
    by_time.emplace_back(-operations * truth.alone(c, truth.best(c, truth.cores)), c);
  }
  std::sort(by_time.begin(), by_time.end());
  std::set<sim::OpKind> shown;
  for (const auto& [minus_s, c] : by_time) {
    const sim::Op& op = one.graph->ops[static_cast<std::size_t>(classes.first_op[static_cast<std::size_t>(c)])];
    if (!shown.insert(op.kind).second) continue;
    for (int threads = 1; threads <= truth.cores; ++threads)
      table.rows.push_back({one.machine, one.model, op.name, kind_names()[static_cast<std::size_t>(op.kind)],
                            static_cast<double>(threads), truth.alone(c, threads)});
  }
}

report::Table shapes_table() {
  return {.name = "threads-shapes",
          .title = "Time against threads, classes of operations",
          .columns = {{"machine", "machine"},
                      {"model", "model"},
                      {"classes", "classes", "{:g}"},
                      {"unimodal_fraction", "unimodal", "{:.3f}"},
                      {"interior_fraction", "best below all cores", "{:.3f}"},
                      {"interior_time_fraction", "of the step's time", "{:.3f}"},
                      {"best_threads_median", "median best", "{:g}"}}};
}

void add_shape_row(const ThreadCase& one, const sim::CpuBelief& truth, report::Table& table) {
  const int classes = one.step.costs->classes();
  double good = 0, interior = 0, interior_s = 0, all_s = 0;
  std::vector<double> best;
  for (int c = 0; c < classes; ++c) {
    good += unimodal(truth, c) ? 1 : 0;
    best.push_back(truth.best(c, truth.cores));
    interior += best.back() < truth.cores ? 1 : 0;
  }
  for (const std::int32_t c : one.step.graph.class_of) {
    const double time_s = truth.alone(c, truth.cores);
    all_s += time_s;
    if (best[static_cast<std::size_t>(c)] < truth.cores) interior_s += time_s;
  }
  table.rows.push_back({one.machine, one.model, static_cast<double>(classes), good / classes, interior / classes,
                        interior_s / all_s, report::quantile(best, 0.5)});
}

report::Table anchors_table() {
  return {.name = "threads-anchors",
          .title = "Best threads of 3 x 3 convolutions, batch 32, as many filters as channels",
          .columns = {{"machine", "machine"},
                      {"image", "image"},
                      {"pass", "pass"},
                      {"best_threads", "best", "{:g}"},
                      {"published_threads", "paper", "{:g}"},
                      {"loss_percent", "paper's number is slower by, %", "{:.1f}"}}};
}

void add_anchor_rows(const std::string& machine, const sim::Device& cpu, report::Table& table) {
  struct Anchor {
    int side, filter_gradient, data_gradient, forward;
  };
  const bool is_knl = cpu.name.find("knl") != std::string::npos;
  for (const Anchor& a : {Anchor{8, 26, 36, 45}, Anchor{17, 42, 56, 63}}) {
    const double m = 32.0 * a.side * a.side, channels = 384, k = 9 * channels;
    const sim::Affine flops{2 * m * channels * k, 0}, bytes{4 * (2 * m * channels + channels * k), 0};
    const auto work = [&](const sim::MatrixShape& shape) {
      return workloads::OpWork{.kind = sim::OpKind::conv, .flops = flops, .bytes = bytes, .matrix = shape};
    };
    const workloads::OpWork product = work({.m = {m, 0}, .n = {channels, 0}, .k = {k, 0}});
    const workloads::OpWork filter = work({.m = {channels, 0}, .n = {k, 0}, .k = {0, m}});
    for (const auto& [pass, of, published] :
         {std::tuple{"filter gradient", &filter, a.filter_gradient}, std::tuple{"data gradient", &product, a.data_gradient},
          std::tuple{"forward", &product, a.forward}}) {
      const workloads::CpuOpCosts costs(std::span(of, 1), cpu, 1);
      const sim::CpuMachine cpu_machine = sim::cpu_machine_of(cpu);
      std::vector<double> alone_s;
      for (int threads = 1; threads <= cpu_machine.cores; ++threads)
        alone_s.push_back(sim::cpu_alone_s(cpu_machine, costs.cost(0, threads), threads));
      const auto best = std::min_element(alone_s.begin(), alone_s.end());
      const bool known = is_knl && published <= cpu_machine.cores;
      table.rows.push_back({machine, fmt::format("{0} x {0} x 384", a.side), std::string(pass),
                            static_cast<double>(best - alone_s.begin() + 1), known ? static_cast<double>(published) : kNan,
                            known ? 100 * (alone_s[static_cast<std::size_t>(published) - 1] / *best - 1) : kNan});
    }
  }
}

report::Figure threads_figure(const ThreadCase& one, const sim::CpuBelief& truth, const sim::CpuPlan& plan) {
  report::Series best{.name = "best alone", .style = report::Style::rings, .rows = {}};
  report::Series planned{.name = "planned", .style = report::Style::points, .rows = {}};
  for (int c = 0; c < one.step.costs->classes(); ++c) {
    const auto first = static_cast<std::size_t>(one.step.classes.first_op[static_cast<std::size_t>(c)]);
    const double us = 1e6 * truth.alone(c, truth.cores);
    best.rows.push_back({us, static_cast<double>(truth.best(c, truth.cores))});
    planned.rows.push_back({us, static_cast<double>(plan.threads[first])});
  }
  return {.title = fmt::format("{} on {}: threads by operation", one.model, one.machine),
          .x = {.label = "time on all cores, us", .logarithmic = true},
          .y = {.label = "threads", .logarithmic = true},
          .series = {std::move(best), std::move(planned)},
          .height_in = report::kTall_in};
}

report::Figure gantt_figure(const ThreadCase& one, const sim::CpuTimeline& timeline) {
  sim::Tick end = 0;
  for (const sim::CpuTimeline::Run& run : timeline.runs) end = std::max(end, run.end);
  // A tenth of the step, from its middle on: the backward pass of most models.
  const double middle_s = sim::seconds_of(end) / 2;
  return report::timeline_figure(cores_timeline(one, timeline), middle_s, 1.2 * middle_s, kind_names());
}

std::string timeline_text(const ThreadCase& one, const sim::CpuTimeline& timeline) {
  return report::timeline_json(cores_timeline(one, timeline));
}

}  // namespace rehearse::scenarios
