#include "policies/harness/across_tasks.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/random.hpp"

namespace rehearse::policies {

namespace {

// Deviations of an outcome around a perfect model; of a bound, how far a run may lie beyond it.
constexpr double kTimeNoise = 0.10, kOddsNoise = 0.25;
constexpr double kTimeBound = 0.15, kOddsBound = 0.3;

constexpr double kWorth = 4;   // runs that the deviations are worth before any is foretold
constexpr double kKept = 0.9;  // of what a foretold run counts, when the next one is

constexpr double kSure = 0.97;  // an option that was not run must keep the limits with this probability
constexpr double kCaution =
    0.5;  // deviations that its money is thought to be above the mean: the cheapest of many looks too cheap

double log_odds(double accuracy) {
  const double a = std::clamp(accuracy, 0.02, 0.995);
  return std::log(a / (1 - a));
}

/// In order of first occurrence.
template <class Item, class Same>
std::vector<std::size_t> grouped(std::span<const Item> items, std::size_t& groups, Same&& same) {
  std::vector<std::size_t> group_of, first;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto known = std::find_if(first.begin(), first.end(), [&](std::size_t f) { return same(items[f], items[i]); });
    group_of.push_back(static_cast<std::size_t>(known - first.begin()));
    if (known == first.end()) first.push_back(i);
  }
  groups = first.size();
  return group_of;
}

template <class Item, class Value>
double mean_log(std::span<const Item> items, Value&& value) {
  double sum = 0;
  for (const Item& item : items) sum += std::log(value(item));
  return sum / static_cast<double>(items.size());
}

/// Features are put down one after the other, each group (all; an instance; a task) with a block of its own.
struct Block {
  std::vector<double> spreads;  ///< of its weights, before any run
  std::size_t groups = 1;
};

std::vector<double> spreads_of(const std::vector<Block>& blocks, double factor) {
  std::vector<double> spreads;
  for (const Block& block : blocks)
    for (std::size_t group = 0; group < block.groups; ++group)
      for (const double spread : block.spreads) spreads.push_back(factor * spread);
  return spreads;
}

class TermWriter {
 public:
  void block(std::size_t group, std::size_t groups, std::initializer_list<double> values) {
    std::size_t feature = begin_ + group * values.size();
    for (const double value : values) {
      if (value != 0) terms_.push_back({feature, value});
      ++feature;
    }
    begin_ += groups * values.size();
  }
  std::vector<LinearTerm> take() { return std::move(terms_); }

 private:
  std::size_t begin_ = 0;
  std::vector<LinearTerm> terms_;
};

double below(double value, const Gaussian& of) { return probability_at_most(value, of); }

/// A probability that a value lies below `limit`, made surer by bounds that hold but for `deviation`.
double held_between(double probability, double limit, const LogBounds& bounds, double deviation) {
  if (std::isfinite(bounds.high)) probability = 1 - (1 - probability) * (1 - below(limit, {bounds.high, deviation}));
  if (std::isfinite(bounds.low)) probability *= below(limit, {bounds.low, deviation});
  return probability;
}

}  // namespace

double Foretold::factor() const { return std::sqrt(std::max(1.0, (kWorth + squares) / (kWorth + runs))); }

void Foretold::add(const Gaussian& before, double value) {
  const double z = (value - before.mean) / before.deviation;
  log_likelihood = kKept * log_likelihood - 0.5 * z * z - std::log(before.deviation);
  squares = kKept * squares + z * z;
  runs = kKept * runs + 1;
}

Gaussian TaskModel::Models::measured_at(std::size_t task, std::span<const LinearTerm> terms, TaskTransfer transfer) const {
  const auto of = [&](const LinearModel& model, const Foretold& foretold) {
    const Gaussian there = model.measured_at(terms);
    return Gaussian{there.mean, there.deviation * foretold.factor()};
  };
  if (transfer == TaskTransfer::together) return of(together.front(), by_together[task]);
  if (transfer == TaskTransfer::apart) return of(apart[task], by_apart[task]);
  const Gaussian a = of(together.front(), by_together[task]), b = of(apart[task], by_apart[task]);
  const double share = 1 / (1 + std::exp(by_apart[task].log_likelihood - by_together[task].log_likelihood));
  const double mean = share * a.mean + (1 - share) * b.mean;
  const auto spread = [&](const Gaussian& g) { return g.deviation * g.deviation + (g.mean - mean) * (g.mean - mean); };
  return {mean, std::sqrt(share * spread(a) + (1 - share) * spread(b))};
}

void TaskModel::Models::add(std::size_t task, std::span<const LinearTerm> terms, double value, bool is_bound) {
  const auto learn = [&](LinearModel& model, Foretold& foretold) {
    if (is_bound) return model.add_above(terms, value);
    foretold.add(model.measured_at(terms), value);
    model.add(terms, value);
  };
  learn(together.front(), by_together[task]);
  learn(apart[task], by_apart[task]);
}

TaskModel::TaskModel(const RunTable& table, TaskTransfer transfer, double spread_factor)
    : table_(table), transfer_(transfer), spread_factor_(spread_factor), seen_(table) {
  instance_of_ = grouped(table.options(), instances_, [](const auto& a, const auto& b) { return a.instance == b.instance; });
  profile_of_ = grouped(table.tasks(), profiles_, [](const auto& a, const auto& b) { return a.has_profile_of(b); });
  setting_of_ = grouped(table.tasks(), settings_,
                        [](const auto& a, const auto& b) { return a.has_profile_of(b) && a.learning_rate == b.learning_rate; });
  usual_workers_ = mean_log(table.options(), [](const TableOption& o) { return o.workers; });
  usual_batch_ = mean_log(table.options(), [](const TableOption& o) { return o.batch_of_worker(); });
  usual_global_batch_ = mean_log(table.options(), [](const TableOption& o) { return o.batch_size; });
  usual_epochs_ = mean_log(table.options(), [](const TableOption& o) { return o.epochs > 0 ? o.epochs : 1; });
  usual_samples_ = mean_log(table.tasks(), [](const TableTask& t) { return t.samples; });
  // Spreads as wide as times and accuracies of different models and devices lie apart; of a group's own weights half as wide.
  const std::size_t tasks = table.tasks().size();
  const std::vector<Block> time_blocks{
      {{10, 1, 1, 0.25, 0.4, 0.3, 0.4, 1, 0.4, 0.5}, 1}, {{1, 0.5, 0.2}, instances_}, {{2, 0.5, 0.2}, profiles_}, {{0.1}, tasks}};
  const std::vector<Block> accuracy_blocks{
      {{2, 1, 1, 1, 0.4, 1}, 1}, {{0.7, 0.7, 0.7, 0.7, 0.25, 0.7}, settings_}, {{0.8, 0.3, 0.3, 0.15, 0.4}, tasks}};
  time_ = fresh(spreads_of(time_blocks, spread_factor), spread_factor * kTimeNoise);
  accuracy_ = fresh(spreads_of(accuracy_blocks, spread_factor), spread_factor * kOddsNoise);
  earliest_cut_s_.assign(tasks, kUnbounded);
}

TaskModel::Models TaskModel::fresh(std::span<const double> spreads, double noise) const {
  const std::size_t tasks = table_.tasks().size();
  return {.together = {LinearModel(spreads, noise)},
          .apart = std::vector<LinearModel>(tasks, LinearModel(spreads, noise)),
          .by_together = std::vector<Foretold>(tasks),
          .by_apart = std::vector<Foretold>(tasks)};
}

TaskModel::Terms TaskModel::time_terms(std::size_t task, std::size_t option) const {
  const TableOption& o = table_.options()[option];
  const double n = std::log(o.workers), b = std::log(o.batch_of_worker()) - usual_batch_;
  const double samples = std::log(table_.tasks()[task].samples) - usual_samples_;
  const double in_step = o.asynchronous ? 0 : 1;
  TermWriter terms;
  terms.block(0, 1, {1, in_step, n, n * n, b, samples, n * b, in_step * n, in_step * b, std::log1p(o.servers)});
  terms.block(instance_of_[option], instances_, {1, n, b});
  terms.block(profile_of_[task], profiles_, {1, n, b});
  terms.block(task, table_.tasks().size(), {1});
  return terms.take();
}

TaskModel::Terms TaskModel::accuracy_terms(std::size_t task, std::size_t option) const {
  const TableOption& o = table_.options()[option];
  const double b = std::log(o.batch_of_worker()) - usual_batch_;
  const double in_step = o.asynchronous ? 0 : 1;
  const double batch = in_step * (std::log(o.batch_size) - usual_global_batch_);
  const double stale = (1 - in_step) * (std::log(o.workers) - usual_workers_), own = (1 - in_step) * b;
  const double samples = std::log(table_.tasks()[task].samples) - usual_samples_;
  const double epochs = o.epochs > 0 ? std::log(o.epochs) - usual_epochs_ : 0;
  TermWriter terms;
  terms.block(0, 1, {1, in_step, batch, stale, own, epochs});
  terms.block(setting_of_[task], settings_, {1, samples, batch, stale, own, in_step});
  terms.block(task, table_.tasks().size(), {1, batch, stale, b, in_step});
  return terms.take();
}

double TaskModel::log_scale(std::size_t task, std::size_t option) const {
  const TableOption& o = table_.options()[option];
  return std::log(table_.tasks()[task].samples * std::max(1.0, o.epochs) / o.workers);
}

void TaskModel::see(std::size_t task, std::size_t option) {
  const TableOutcome& outcome = *table_.outcome(task, option);
  seen_.add(task, option);
  const double seconds = std::log(outcome.time_s) - log_scale(task, option);
  if (outcome.censored) earliest_cut_s_[task] = std::min(earliest_cut_s_[task], outcome.time_s);
  time_.add(task, time_terms(task, option), seconds, outcome.censored);
  accuracy_.add(task, accuracy_terms(task, option), log_odds(outcome.accuracy), outcome.censored);
}

/// An epoch's worker-seconds rise with workers and fall with the batch. Accuracy falls with the batch of a synchronous step, with
/// the workers and their batches of an asynchronous one, and rises with the epochs.
TaskModel::Foreseen TaskModel::foresee(std::size_t task, std::size_t option) const {
  const TableOption& o = table_.options()[option];
  const double earliest_cut_s =
      transfer_ == TaskTransfer::apart ? earliest_cut_s_[task] : *std::ranges::min_element(earliest_cut_s_);
  Foreseen result{.earliest_cut_s = earliest_cut_s, .spread_factor = spread_factor_};
  result.log_time = time_.measured_at(task, time_terms(task, option), transfer_);
  result.log_time.mean += log_scale(task, option);
  result.log_odds = accuracy_.measured_at(task, accuracy_terms(task, option), transfer_);
  for (std::size_t other = 0; other < table_.options().size(); ++other) {
    const TableOption& p = table_.options()[other];
    if (!seen_.has(task, other) || p.asynchronous != o.asynchronous) continue;
    const TableOutcome& outcome = *table_.outcome(task, other);
    if (p.instance == o.instance && p.servers == o.servers) {
      const double seconds = std::log(outcome.time_s) - log_scale(task, other) + log_scale(task, option);
      if (p.workers <= o.workers && p.batch_size >= o.batch_size) result.time.low = std::max(result.time.low, seconds);
      if (!outcome.censored && p.workers >= o.workers && p.batch_size <= o.batch_size)
        result.time.high = std::min(result.time.high, seconds);
    }
    const auto no_better = [](const TableOption& a, const TableOption& than) {
      return a.epochs <= than.epochs &&
             (a.asynchronous ? a.workers >= than.workers && a.batch_of_worker() >= than.batch_of_worker()
                             : a.batch_size >= than.batch_size);
    };
    const double odds = log_odds(outcome.accuracy);
    if (no_better(p, o)) result.accuracy.low = std::max(result.accuracy.low, odds);
    if (!outcome.censored && no_better(o, p)) result.accuracy.high = std::min(result.accuracy.high, odds);
  }
  return result;
}

double TaskModel::keeps(const Foreseen& outcome, const TableLimits& limits) {
  const double deadline = std::log(std::min(limits.deadline_s, outcome.earliest_cut_s)), floor = log_odds(limits.target_accuracy);
  const double in_time =
      held_between(below(deadline, outcome.log_time), deadline, outcome.time, outcome.spread_factor * kTimeBound);
  const auto turned = [](const Gaussian& of) { return Gaussian{-of.mean, of.deviation}; };
  const LogBounds accuracy{-outcome.accuracy.high, -outcome.accuracy.low};
  return in_time * held_between(below(-floor, turned(outcome.log_odds)), -floor, accuracy, outcome.spread_factor * kOddsBound);
}

Gaussian TaskModel::log_usd(const Foreseen& outcome, std::size_t task, std::size_t option) const {
  const double usd_per_s = table_.outcome(task, option)->price_usd_per_hour / 3600;
  return {.mean = outcome.log_time.mean + std::log(usd_per_s), .deviation = outcome.log_time.deviation};
}

namespace {

/// The cheapest run seen that keeps the limits; without one what the dearest option takes for the whole deadline. A logarithm.
double log_usd_to_beat(const RunTable& table, const TableJob& job, const TaskModel& model) {
  double least_usd = kUnbounded, dearest_usd_per_hour = 0;
  for (std::size_t option = 0; option < table.options().size(); ++option) {
    const TableOutcome* outcome = table.outcome(job.task, option);
    if (outcome == nullptr) continue;
    dearest_usd_per_hour = std::max(dearest_usd_per_hour, outcome->price_usd_per_hour);
    if (model.has_seen(job.task, option) && keeps_limits(*outcome, job.limits))
      least_usd = std::min(least_usd, outcome->cost_usd);
  }
  return std::log(std::isfinite(least_usd) ? least_usd : dearest_usd_per_hour / 3600 * job.limits.deadline_s);
}

std::size_t next_option(const RunTable& table, std::size_t task, std::span<const std::size_t> left,
                        std::span<const TableJob> jobs, const TaskModel& model) {
  std::vector<double> to_beat;
  for (const TableJob& job : jobs) to_beat.push_back(log_usd_to_beat(table, job, model));
  std::size_t best = left.front();
  double most = -1;
  for (const std::size_t option : left) {
    const TaskModel::Foreseen outcome = model.foresee(task, option);
    const Gaussian log_usd = model.log_usd(outcome, task, option);
    double merit = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j)
      merit += TaskModel::keeps(outcome, jobs[j].limits) * expected_improvement(to_beat[j], log_usd);
    if (merit <= most) continue;
    most = merit;
    best = option;
  }
  return best;
}

}  // namespace

MeasuredCells probe_tasks(const RunTable& table, const TaskSearch& search, TaskModel& model) {
  MeasuredCells measured(table);
  std::vector<std::vector<TableJob>> wanted(table.tasks().size());
  for (const TableJob& job : search.wanted) wanted[job.task].push_back(job);
  for (std::size_t round = 0; round < search.runs; ++round) {
    for (std::size_t task = 0; task < table.tasks().size(); ++task) {
      std::vector<std::size_t> left;
      for (std::size_t option = 0; option < table.options().size(); ++option)
        if (table.outcome(task, option) != nullptr && !measured.has(task, option)) left.push_back(option);
      if (left.empty()) continue;
      const std::size_t next = round == 0 ? left[sim::Random(search.random_keys[task]).below(left.size())]
                                          : next_option(table, task, left, wanted[task], model);
      measured.add(task, next);
      model.see(task, next);
    }
  }
  return measured;
}

TableChoice cheapest_foreseen(const RunTable& table, const TableJob& job, const TaskModel& model) {
  TableChoice cheapest;
  double least_usd = kUnbounded;
  for (std::size_t option = 0; option < table.options().size(); ++option) {
    const TableOutcome* outcome = table.outcome(job.task, option);
    if (outcome == nullptr) continue;
    bool feasible = false;
    double usd = 0;
    if (model.has_seen(job.task, option)) {
      feasible = keeps_limits(*outcome, job.limits);
      usd = outcome->cost_usd;
    } else {
      const TaskModel::Foreseen foreseen = model.foresee(job.task, option);
      const Gaussian log_usd = model.log_usd(foreseen, job.task, option);
      feasible = TaskModel::keeps(foreseen, job.limits) >= kSure;
      usd = std::exp(log_usd.mean + kCaution * log_usd.deviation);
    }
    if (!feasible || usd >= least_usd) continue;
    cheapest = option;
    least_usd = usd;
  }
  return cheapest;
}

}  // namespace rehearse::policies
