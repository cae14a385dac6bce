// A training under way beside its plan: what it was predicted to take, what it takes, and what stepping aside would cost.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "cli/commands.hpp"
#include "cli/network_words.hpp"
#include "cli/rent.hpp"
#include "cli/say.hpp"
#include "report/table.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::cli {

namespace {

using policies::RentChoice;

constexpr double kDrifted = 0.15;  // of the predicted step, from which on the plan is made anew

struct Chosen {
  std::string pool;
  int workers = 0;
  double batch = 0, power_limit_w = 0;
  std::string precision;
};

struct State {
  RentArguments arguments;
  Chosen chosen;
};

/// The options that make the same request again, by their keys in the state's file.
template <class Arguments>
auto texts_of(Arguments& a) {
  return std::array{std::pair("model", &a.model),
                    std::pair("dataset", &a.dataset),
                    std::pair("samples", &a.samples),
                    std::pair("epochs", &a.epochs),
                    std::pair("deadline", &a.deadline),
                    std::pair("batches", &a.batches),
                    std::pair("regions", &a.regions),
                    std::pair("clouds", &a.providers),
                    std::pair("recipe", &a.recipe),
                    std::pair("account", &a.account),
                    std::pair("from", &a.from),
                    std::pair("stack", &a.stack),
                    std::pair("precision", &a.precisions),
                    std::pair("spot_prices", &a.spot_prices)};
}
State read_state(const std::string& path) {
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  State state;
  if (const auto options = in.required("options", "the request that was planned (rehearse rent ... --state FILE)")) {
    sim::ObjectReader one(*options, mistakes);
    for (const auto& [key, into] : texts_of(state.arguments))
      if (one.has(key)) *into = one.text(key);
    for (const RentNumber& number : kRentNumbers) {
      double& into = state.arguments.*number.value;
      into = one.number(number.key, sim::between(into == 0 ? 0 : number.low, number.high), into);
    }
    state.arguments.spot = kSpotUses[one.choice("spot", kSpotUses, 0)];
    state.arguments.nodes = static_cast<int>(one.integer("nodes", sim::between(1, 100000), 16));
    state.arguments.power_limits = one.boolean("power_limits", false);
    for (const sim::JsonValue file : one.list("catalogues"))
      state.arguments.catalogues.emplace_back(sim::read_text(file, mistakes));
    one.finish();
  }
  if (const auto chosen = in.required("chosen", "what is trained on")) {
    sim::ObjectReader one(*chosen, mistakes);
    state.chosen = {.pool = one.text("pool"),
                    .workers = static_cast<int>(one.integer("workers", sim::between(1, 1e7))),
                    .batch = one.number("batch_size", sim::at_least(1)),
                    .power_limit_w = one.number("power_limit_w", sim::at_least(0), 0.0),
                    .precision = one.text("precision", "fp32")};
    one.finish();
  }
  in.finish();
  mistakes.throw_if_any();
  return state;
}

struct Progress {
  double step = 0, of = 0, step_s = 0, elapsed_s = 0;
};

/// Of a log with a JSON object a line, as the exported training writes it: time_s, step, of.
Progress read_progress(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw sim::InputError({.file = path, .expected = "a log that can be read", .found = "none"});
  std::string line;
  double first_s = 0, first_step = -1, last_s = 0;
  Progress p;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.find("\"of\"") == line.npos) continue;  // an accuracy, or another's line
    const sim::JsonDocument document = sim::parse_json(line, fmt::format("{}:{}", path, number));
    sim::Mistakes mistakes;
    sim::ObjectReader one(document.root(), mistakes);
    const double time_s = one.number("time_s", sim::at_least(0)), step = one.number("step", sim::at_least(0));
    p.of = one.number("of", sim::at_least(1));
    if (mistakes.empty() && step > p.of)
      mistakes.add({.file = path,
                    .line = number,
                    .pointer = "step",
                    .expected = fmt::format("at most the {} of \"of\"", p.of),
                    .found = fmt::format("{}", step)});
    if (mistakes.empty() && time_s < last_s)
      mistakes.add({.file = path,
                    .line = number,
                    .pointer = "time_s",
                    .expected = fmt::format("a date that is not before {}, the last one", last_s),
                    .found = fmt::format("{}", time_s)});
    mistakes.throw_if_any();
    if (first_step < 0 || step < p.step) {  // begun anew from a checkpoint: the time in between is not of steps
      first_s = time_s;
      first_step = step;
    }
    p.step = step;
    last_s = time_s;
  }
  if (p.step <= first_step || first_step < 0 || last_s <= first_s)
    throw sim::InputError(
        {.file = path, .expected = "two lines with time_s, step and of, the second further on and later", .found = "fewer"});
  p.step_s = (last_s - first_s) / (p.step - first_step);
  p.elapsed_s = p.step * p.step_s;
  return p;
}

const RentChoice* find_chosen(const RentAnswer& answer, const Chosen& chosen) {
  const sim::Cluster& cluster = answer.market.cluster->scenario.cluster;
  for (const RentChoice& one : answer.choices)
    if (cluster.pools[static_cast<std::size_t>(one.plan.pool)].name == chosen.pool && one.plan.workers == chosen.workers &&
        one.plan.batch == chosen.batch && one.plan.power_limit_w == chosen.power_limit_w &&
        precision_name(one.precision) == chosen.precision)
      return &one;
  return nullptr;
}

}  // namespace

void save_rent_state(const RentAnswer& answer, const RentArguments& a) {
  const RentChoice& chosen = answer.choices[answer.told[0].choice];
  std::string options, catalogues;
  for (const auto& [key, value] : texts_of(a))
    if (!value->empty()) options += fmt::format("\"{}\": {}, ", key, sim::json_string(*value));
  options += fmt::format("\"spot\": {}, ", sim::json_string(a.spot));
  for (const RentNumber& number : kRentNumbers) options += fmt::format("\"{}\": {}, ", number.key, a.*number.value);
  for (const std::string& file : a.catalogues) catalogues += (catalogues.empty() ? "" : ", ") + sim::json_string(file);
  const auto pool = static_cast<std::size_t>(chosen.plan.pool);
  sim::write_file(a.state,
                  fmt::format("{{\n  \"options\": {{{}\"nodes\": {}, \"power_limits\": {}, \"catalogues\": [{}]}},\n  "
                              "\"chosen\": {{\"pool\": {}, \"workers\": {}, "
                              "\"batch_size\": {}, \"power_limit_w\": {}, \"precision\": \"{}\"}}\n}}\n",
                              options, a.nodes, a.power_limits, catalogues,
                              sim::json_string(answer.market.cluster->scenario.cluster.pools[pool].name), chosen.plan.workers,
                              chosen.plan.batch, chosen.plan.power_limit_w, precision_name(chosen.precision)));
}

int rent_resume(const RentArguments& arguments) {
  if (arguments.watch.empty())
    throw sim::InputError({.file = "--watch", .expected = "the log of the training beside --resume", .found = "nothing"});
  State state = read_state(arguments.resume);
  if (!arguments.deadline.empty()) state.arguments.deadline = arguments.deadline;
  if (arguments.budget > 0) state.arguments.budget = arguments.budget;
  const Progress progress = read_progress(arguments.watch);
  const RentAnswer answer = rent_answer(state.arguments);
  const sim::Cluster& cluster = answer.market.cluster->scenario.cluster;
  const RentChoice* now = find_chosen(answer, state.chosen);
  if (now == nullptr)
    throw sim::InputError(
        {.file = arguments.resume, .pointer = "/chosen", .expected = "one of what can be rented", .found = state.chosen.pool});
  const double drift = progress.step_s / now->plan.step_s.expected, done = std::min(1.0, progress.step / progress.of);
  say("step {:.0f} of {:.0f} ({}), {:.4g} s a step where {:.4g} s were predicted ({:+.0f} %)\n\n", progress.step, progress.of,
      sim::percent_words(done), progress.step_s, now->plan.step_s.expected, 100 * (drift - 1));
  // What was measured here holds for this device; elsewhere the prediction is all there is.
  const auto rest_s = [&](const RentChoice& c, bool is_here) {
    return (1 - done) * (c.plan.time_s.expected - c.start_s) * (is_here ? drift : 1);
  };
  const auto usd = [&](const RentChoice& c, double seconds) {
    return c.plan.cost_usd.expected / c.plan.time_s.expected * seconds;
  };
  // Both limits are of the whole training: what is left of them.
  const double deadline_s = answer.request.limits.deadline_s - progress.elapsed_s,
               budget_usd = answer.request.limits.cost_usd - usd(*now, now->start_s + progress.elapsed_s);
  const auto keeps = [&](const RentChoice& c, double seconds) { return seconds <= deadline_s && usd(c, seconds) <= budget_usd; };
  const bool has_budget = std::isfinite(budget_usd);
  std::vector<std::vector<std::string>> rows{{"", "on", "batch", "left", "money left", "deadline"}};
  if (has_budget) rows.front().emplace_back("budget");
  const auto add = [&](const char* label, const RentChoice& c, double seconds) {
    rows.push_back({label, rented_words(c, cluster), fmt::format("{:.0f}", c.plan.batch), sim::time_words(seconds),
                    sim::money_words(usd(c, seconds)),
                    std::isinf(deadline_s)  ? "-"
                    : seconds <= deadline_s ? "kept"
                                            : "missed"});
    if (has_budget) rows.back().emplace_back(usd(c, seconds) <= budget_usd ? "kept" : "exceeded");
  };
  add("stay", *now, rest_s(*now, true));
  const RentChoice *other_batch = nullptr, *other_machine = nullptr;
  const auto cheaper = [&](const RentChoice*& best, const RentChoice& c, double seconds, auto&& best_s) {
    const bool is_within = keeps(c, seconds), best_is = best != nullptr && keeps(*best, best_s(*best));
    if (best == nullptr || (is_within && !best_is) || (is_within == best_is && usd(c, seconds) < usd(*best, best_s(*best))))
      best = &c;
  };
  const double restart_s = answer.checkpoint_bytes / answer.market.cluster->scenario.costs.restore_bytes_per_s;
  const auto batch_s = [&](const RentChoice& c) {
    return rest_s(c, true) + answer.market.cluster->scenario.costs.start_s + restart_s;
  };
  const auto machine_s = [&](const RentChoice& c) { return rest_s(c, false) + c.start_s + restart_s; };
  for (const RentChoice& c : answer.choices) {
    if (&c == now) continue;
    if (c.plan.pool == now->plan.pool && c.plan.workers == now->plan.workers && c.precision == now->precision &&
        c.plan.power_limit_w == now->plan.power_limit_w)
      cheaper(other_batch, c, batch_s(c), batch_s);
    if (c.plan.pool != now->plan.pool) cheaper(other_machine, c, machine_s(c), machine_s);
  }
  if (other_batch != nullptr) add("change batch", *other_batch, batch_s(*other_batch));
  if (other_machine != nullptr) add("change machine", *other_machine, machine_s(*other_machine));
  std::vector<bool> left{true, true, false, false, false, true};
  if (has_budget) left.push_back(true);
  say("{}\n", report::aligned(rows, left, {}, table_width()));
  const double stay_usd = usd(*now, rest_s(*now, true));
  const bool stay_keeps = keeps(*now, rest_s(*now, true));
  const bool move = other_machine != nullptr && keeps(*other_machine, machine_s(*other_machine)) &&
                    (!stay_keeps || usd(*other_machine, machine_s(*other_machine)) < (1 - kDrifted) * stay_usd);
  const bool batch_keeps = other_batch != nullptr && keeps(*other_batch, batch_s(*other_batch));
  const bool is_planned = std::abs(drift - 1) <= kDrifted;
  const std::string plan = is_planned ? fmt::format("The training runs as planned, within {:.0f} %.", 100 * kDrifted)
                                      : std::string("The plan has drifted.");
  const char* const limits = !has_budget              ? "The deadline is lost where it runs"
                             : std::isinf(deadline_s) ? "The budget is exceeded where it runs"
                                                      : "Where it runs, deadline and budget are not both kept";
  std::string advice;
  if (move)
    advice = is_planned && stay_keeps ? "Another machine would do better all the same."
                                      : "Move: save, rent the other machine, go on from the checkpoint.";
  else if (!stay_keeps)
    advice = fmt::format("{}, and {}.", limits,
                         batch_keeps ? "the other batch keeps what is asked for" : "nothing else keeps what is asked for");
  else if (!is_planned)
    advice = "Stay: nothing else is cheaper by more than moving costs.";
  say("{}", wrapped(plan + (advice.empty() ? "" : " " + advice)));
  say("{}", read_words(account_of(answer.request.network)));
  return kOk;
}

}  // namespace rehearse::cli
