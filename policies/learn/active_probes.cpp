#include "policies/learn/active_probes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr double kProbeSteps = 50;       // that are timed, at least
constexpr double kProbeSeconds = 5;      // for which steps are timed, at least
constexpr std::size_t kWaveSize = 8;     // measurements at a time
constexpr int kMostFirst = 8;            // of measurements of one instance that may be out of memory, one after the other
constexpr int kMostWaves = 4;            // of timed steps, one after the other, at one date
constexpr std::size_t kTypicalJobs = 5;  // jobs that stand for all that have arrived
constexpr double kPatience = 0.5;        // of what a deadline leaves, that a job may wait for trainings
constexpr double kWorthWaiting = 0.9;    // of a job's money: if it becomes less, the job waits for it
constexpr double kSpare = 0.002;         // of what the jobs to come will cost: for trainings that are over sooner, or go on
constexpr std::size_t kTried = 40;       // configurations whose steps are worth thinking of

}  // namespace

ActiveProbes::ActiveProbes(std::vector<ProbeCandidate> candidates, const PastRun& recipe, const ActiveOptions& options,
                           Laboratory& laboratory)
    : candidates_(std::move(candidates)), options_(options), laboratory_(laboratory), timed_(candidates_.size(), false) {
  if (recipe.epochs > 0) rows_.push_back({recipe, -kUnbounded});
}

std::optional<PastRun> ActiveProbes::Row::read_by(double at_s) const {
  if (training == 0 || at_s >= known_s || at_s <= begin_s) return std::nullopt;
  const double read = before + std::floor((at_s - begin_s) / (known_s - begin_s) * (run.epochs - before));
  if (read < before + 1 || read >= run.epochs) return std::nullopt;
  PastRun part = run;
  part.curve.resize(static_cast<std::size_t>(read));
  part.accuracy = part.curve.back();
  part.time_s *= read / run.epochs;
  part.epochs = read;
  return part;
}

std::vector<PastRun> ActiveProbes::known(double at_s) const {
  std::map<double, std::size_t> last;  // of each training the row that says most
  std::map<std::size_t, PastRun> parts;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::optional<PastRun> part = rows_[i].read_by(at_s);
    if (part) parts.emplace(i, std::move(*part));
    if (parts.contains(i) || rows_[i].known_s <= at_s) last[rows_[i].training] = i;
  }
  std::vector<PastRun> runs;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const bool is_training = rows_[i].training > 0;
    if (is_training ? last.contains(rows_[i].training) && last.at(rows_[i].training) == i : rows_[i].known_s <= at_s)
      runs.push_back(parts.contains(i) ? std::move(parts.at(i)) : rows_[i].run);
  }
  return runs;
}

/// By floor and deadline, those in the middle of equal parts of all.
std::vector<JobLimits> ActiveProbes::typical_limits() const {
  if (arrived_.size() <= kTypicalJobs) return arrived_;
  std::vector<JobLimits> sorted = arrived_, typical;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const JobLimits& a, const JobLimits& b) { return a.deadline_s < b.deadline_s; });
  for (std::size_t k = 0; k < kTypicalJobs; ++k) typical.push_back(sorted[sorted.size() * (2 * k + 1) / (2 * kTypicalJobs)]);
  return typical;
}

/// Without the time of a step on an instance nothing can be said of it: its fewest workers, at the batch nearest to the recipe's;
/// where that is out of memory, the next that may fit.
double ActiveProbes::time_first(double now_s) {
  double end_s = now_s;
  for (int round = 0; round < kMostFirst; ++round) {
    const std::vector<std::size_t> wave = first_of_instances();
    if (wave.empty()) break;
    const ProbeOutlook outlook(candidates_, known(end_s), options_, arrived_);
    end_s = buy_times(wave, outlook, end_s);
  }
  return end_s;
}

/// Of each instance of which no time is known.
std::vector<std::size_t> ActiveProbes::first_of_instances() const {
  const double usual = rows_.empty() || rows_.front().run.told != Told::recipe ? 0 : std::log(rows_.front().run.batch_size);
  std::map<std::string, std::size_t> first;
  const auto distance = [&](std::size_t c) {
    const PlannedRun& run = candidates_[c].run;
    return std::make_pair(usual > 0 ? std::abs(std::log(run.batch_size) - usual) : 0.0, run.workers);
  };
  const auto is_known = [&](const std::string& instance) {
    return std::ranges::any_of(rows_, [&](const Row& row) { return row.run.instance == instance && tells_time(row.run); });
  };
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    if (candidates_[c].too_large || is_known(candidates_[c].instance)) continue;
    const auto [known, is_new] = first.emplace(candidates_[c].instance, c);
    if (!is_new && distance(c) < distance(known->second)) known->second = c;
  }
  std::vector<std::size_t> wave;
  for (const auto& [instance, candidate] : first) wave.push_back(candidate);
  return wave;
}

double ActiveProbes::buy_times(std::span<const std::size_t> wave, const ProbeOutlook& outlook, double now_s) {
  double end_s = now_s;
  for (const std::size_t c : wave) {
    timed_[c] = true;
    const double most_s = candidates_[c].start_s + std::max(kProbeSeconds, kProbeSteps * outlook.longest_step_s(c));
    Laboratory::Measured measured = laboratory_.time_steps(c, most_s);
    pay(measured, c, most_s);
    if (!measured.fits) note_too_large(measured.run);
    rows_.push_back({std::move(measured.run), now_s + measured.held_s});
    end_s = std::max(end_s, now_s + measured.held_s);
  }
  return end_s;
}

/// Wave after wave; of each the measurements are chosen as if the ones before it in the wave had shown what is expected of them.
double ActiveProbes::time_more(double now_s, const JobLimits& job) {
  const double jobs = jobs_to_come();
  double waits_until_s = now_s, begin_s = now_s;
  bool waits = true;
  const auto wait_for = [&](double end_s, double soonest) {
    waits = waits && (end_s - now_s) + soonest <= job.deadline_s;
    if (waits) waits_until_s = end_s;
    begin_s = end_s;
  };
  if (std::none_of(timed_.begin(), timed_.end(), [](bool timed) { return timed; })) {
    wait_for(time_first(now_s), 0);
  }
  for (int wave_number = 0; wave_number < kMostWaves; ++wave_number) {
    ProbeOutlook outlook(candidates_, known(begin_s), options_, typical_limits());
    const double soonest = ProbeOutlook(candidates_, known(begin_s), options_, {job}).soonest_s(0);
    ProbeOutlook imagined = outlook;
    std::vector<std::size_t> wave;
    double wave_usd = 0;  // what it will cost
    const double left = left_usd(outlook.worth_usd());
    while (wave.size() < kWaveSize) {
      const std::vector<ProbeOutlook::Decision> decided = imagined.decisions();
      std::vector<std::pair<double, std::size_t>> tried;  // the less it may cost, the sooner
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        if (timed_[c] || imagined.time(c).width() < 1e-3) continue;
        double best = kUnbounded;
        for (std::size_t j = 0; j < imagined.limits().size(); ++j)
          if (imagined.may_keep(j, c)) best = std::min(best, imagined.least_usd(j, c) / decided[j].usd);
        if (best < 1) tried.emplace_back(best, c);
      }
      std::sort(tried.begin(), tried.end());
      if (tried.size() > kTried) tried.resize(kTried);
      double most = 0;
      std::size_t best = candidates_.size();
      const auto consider = [&](std::size_t c, const Foreseen& foreseen, double price_usd) {
        const double net = jobs * foreseen.saved_usd() - price_usd;
        if (net <= most || price_usd > left - wave_usd) return;
        most = net;
        best = c;
      };
      const auto price_of = [&](std::size_t c) {
        const double steps_s = std::exp(imagined.time(c).middle()) * candidates_[c].run.batch_size * kProbeSteps;
        return laboratory_.price_usd(c, candidates_[c].start_s + std::max(kProbeSeconds, steps_s));
      };
      for (const auto& [least, c] : tried) {
        const auto imagine = [c = c](ProbeOutlook& then, double share) { then.imagine_time(c, share); };
        consider(c, foresee(decided, imagined, kImaginedShares, imagine), price_of(c));
      }
      // A time and a training may pay only together.
      for (std::size_t i = 0; i < std::min<std::size_t>(tried.size(), 8) && best == candidates_.size(); ++i) {
        const std::size_t c = tried[i].second, slot = imagined.slot(c);
        const std::vector<double> shares = imagined.shares_of_training(slot);
        const auto both = [&](ProbeOutlook& then, double share) {
          then.imagine_time(c, 0.5);
          then.imagine_training(slot, share);
        };
        double epochs = 0;
        for (std::size_t j = 0; j < imagined.limits().size(); ++j)
          epochs = std::max(epochs, std::exp(0.5 * (imagined.epochs(j, slot).low + imagined.likely_high(j, slot))));
        consider(c, foresee(decided, imagined, shares, both),
                 price_of(c) + laboratory_.price_usd(c, candidates_[c].start_s + epochs * imagined.epoch_s(c)));
      }
      if (best == candidates_.size()) break;
      wave_usd += price_of(best);
      wave.push_back(best);
      timed_[best] = true;
      imagined.imagine_time(best, 0.5);
    }
    if (wave.empty()) break;
    wait_for(buy_times(wave, outlook, begin_s), soonest);
  }
  busy_until_s_ = begin_s;
  return waits_until_s;
}

/// Trainings at one date: those that are under way are taken to show what is expected of them.
void ActiveProbes::train_more(double now_s) {
  const double jobs = jobs_to_come();
  double until = 0, cap = 1;
  for (const JobLimits& job : arrived_) {
    if (std::isnan(job.floor)) continue;
    until = std::max(until, job.floor);
    cap = std::max(cap, job.epochs);
  }
  if (until == 0) return;
  const ProbeOutlook outlook(candidates_, known(now_s), options_, typical_limits());
  ProbeOutlook imagined = outlook;
  const double spare_usd = kSpare * jobs * outlook.worth_usd();
  const auto batch_of = [&](std::size_t c) { return candidates_[c].run.batch_size; };
  std::set<std::size_t> closed;  // batches that need no training now
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    const auto training = trainings_.find(batch_of(c));
    if (training == trainings_.end() || closed.contains(imagined.slot(c))) continue;
    if (training->second.end_s > now_s) imagined.imagine_training(imagined.slot(c), 0.5);
    if (training->second.end_s > now_s || training->second.reached >= until) closed.insert(imagined.slot(c));
  }
  for (std::size_t bought = 0; bought < kWaveSize; ++bought) {
    const std::vector<ProbeOutlook::Decision> decided = imagined.decisions();
    double most = 0, epochs_of_best = 0, expected_of_best = 0;
    std::size_t best = candidates_.size();
    for (std::size_t slot = 0; slot < imagined.batches(); ++slot) {
      if (closed.contains(slot)) continue;
      double epochs = 1, width = 0, most_epochs = 1;
      for (std::size_t j = 0; j < imagined.limits().size(); ++j) {
        most_epochs = std::max(most_epochs, std::exp(outlook.likely_high(j, slot)));
        epochs = std::max(epochs, std::exp(0.5 * (imagined.epochs(j, slot).low + imagined.likely_high(j, slot))));
        width = std::max(width, imagined.epochs(j, slot).width());
      }
      const std::size_t trainer = outlook.trainer_of(slot, spare_usd / epochs);
      if (trainer == candidates_.size() || width < 3 * options_.envelope.epoch_noise + 0.05) continue;
      const auto imagine = [slot](ProbeOutlook& then, double share) { then.imagine_training(slot, share); };
      const double saved_usd = foresee(decided, imagined, imagined.shares_of_training(slot), imagine).saved_usd();
      const auto training = trainings_.find(batch_of(trainer));
      const double done = training == trainings_.end() ? 0 : training->second.epochs;
      const double price =
          laboratory_.price_usd(trainer, candidates_[trainer].start_s + std::max(1.0, epochs - done) * outlook.epoch_s(trainer));
      const double net = jobs * saved_usd - price;
      if (net <= most || price > left_usd(outlook.worth_usd())) continue;
      most = net;
      best = trainer;
      epochs_of_best = std::min(cap, std::ceil(most_epochs));
      expected_of_best = std::min(cap, epochs);
    }
    if (best == candidates_.size()) return;
    closed.insert(imagined.slot(best));
    imagined.imagine_training(imagined.slot(best), 0.5);
    Plan plan{.until = until,
              .epochs = epochs_of_best,
              .expected_epochs = expected_of_best,
              .epoch_s = outlook.epoch_s(best),
              .longest_epoch_s = outlook.longest_epoch_s(best)};
    const double end_s = train(best, plan, now_s);
    // On to where the recipe ends, so that higher floors need no training of their own: where that is small change.
    const Recipe recipe{rows_.front().run.batch_size, rows_.front().run.epochs};
    const double more = std::min(cap, recipe.epochs) - trainings_[batch_of(best)].epochs;
    if (more >= 1 && trainings_[batch_of(best)].reached > 0 &&
        laboratory_.price_usd(best, candidates_[best].start_s + more * outlook.epoch_s(best)) <=
            std::min(spare_usd, left_usd(outlook.worth_usd()))) {
      plan.until = 1;
      plan.epochs = plan.expected_epochs = std::min(cap, recipe.epochs);
      train(best, plan, end_s);
    }
  }
}

/// Begins or goes on with the training of a batch size. Returns when it ends.
double ActiveProbes::train(std::size_t candidate, const Plan& plan, double now_s) {
  const double batch = candidates_[candidate].run.batch_size;
  Training& training = trainings_[batch];
  const double most_s = candidates_[candidate].start_s + std::max(1.0, plan.epochs - training.epochs) * plan.longest_epoch_s;
  Laboratory::Measured measured = laboratory_.train(candidate, plan.until, plan.epochs, most_s);
  pay(measured, candidate, most_s);
  if (measured.run.told == Told::out_of_memory) {
    note_too_large(measured.run);
    rows_.push_back({std::move(measured.run), now_s + measured.held_s});
    return now_s + measured.held_s;
  }
  if (!measured.fits) {
    training.reached = 1;  // it cannot be trained any further: not tried again
    return now_s;
  }
  const double expected_s =
      now_s + candidates_[candidate].start_s + std::max(1.0, plan.expected_epochs - training.epochs) * plan.epoch_s;
  const double before = training.epochs;
  training.epochs = measured.run.epochs;
  training.end_s = now_s + measured.held_s;
  const std::vector<double>& curve = measured.run.curve;
  const bool twice = curve.size() > 1 && std::min(curve.back(), curve[curve.size() - 2]) >= plan.until;
  training.reached = twice ? plan.until : training.reached;
  rows_.push_back({std::move(measured.run), training.end_s, batch, expected_s, now_s + candidates_[candidate].start_s, before});
  return training.end_s;
}

/// Seconds that the job waits for trainings under way, after `waited_s`: if by what they are expected to show and when, its
/// choice would then cost less, its deadline being nearer. It gives up while some configuration still keeps the deadline.
double ActiveProbes::wait_for_trainings(const JobLimits& job, double now_s, double waited_s) const {
  const double from_s = now_s + waited_s;
  std::vector<const Row*> pending;
  for (const Row& row : rows_)
    if (row.training > 0 && row.known_s > from_s) pending.push_back(&row);
  if (pending.empty() || std::isnan(job.floor)) return waited_s;
  std::stable_sort(pending.begin(), pending.end(), [](const Row* a, const Row* b) { return a->expected_s < b->expected_s; });
  const std::vector<PastRun> runs = known(from_s);
  const auto outlook_after = [&](double wait_s) {
    JobLimits later = job;
    later.deadline_s -= wait_s;
    return ProbeOutlook(candidates_, runs, options_, {later});
  };
  const ProbeOutlook outlook(candidates_, runs, options_, {job});
  double soonest = outlook.soonest_s(0);
  if (soonest > job.deadline_s)  // by what is expected, where none is sure to keep it
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (outlook.may_take(0, c)) soonest = std::min(soonest, outlook.expected_s(0, c));
  const double latest_s = std::isinf(job.deadline_s) ? kUnbounded : kPatience * (job.deadline_s - soonest);
  const std::vector<ProbeOutlook::Decision> decided = outlook_after(waited_s).decisions();
  double best = 1, best_s = waited_s;  // of the money without waiting for more
  for (std::size_t k = 0; k < pending.size(); ++k) {
    const double wait_s = std::max(waited_s, pending[k]->expected_s - now_s);
    if (wait_s > latest_s) break;
    const ProbeOutlook now = outlook_after(wait_s);
    const Foreseen foreseen = foresee(decided, now, kImaginedShares, [&](ProbeOutlook& then, double share) {
      for (std::size_t i = 0; i <= k; ++i)
        for (std::size_t c = 0; c < candidates_.size(); ++c)
          if (candidates_[c].run.batch_size == pending[i]->training) {
            then.imagine_training(then.slot(c), share);
            break;
          }
    });
    if (!(foreseen.aware_usd < kWorthWaiting * best * foreseen.unaware_usd)) continue;
    best = foreseen.aware_usd / foreseen.unaware_usd;
    best_s = std::max(waited_s, std::min(pending[k]->known_s - now_s, latest_s));
  }
  return best_s;
}

void ActiveProbes::add(PastRun run) {
  if (run.told == Told::out_of_memory) note_too_large(run);
  rows_.push_back({std::move(run), -kUnbounded});
}

/// More samples on such a worker do not fit either.
void ActiveProbes::note_too_large(const PastRun& run) {
  for (ProbeCandidate& c : candidates_)
    c.too_large = c.too_large || (c.instance == run.instance && c.run.batch_size / c.run.workers >= run.batch_size / run.workers);
}

void ActiveProbes::pay(const Laboratory::Measured& measured, std::size_t candidate, double most_s) {
  sim::check(measured.usd <= laboratory_.price_usd(candidate, most_s) * (1 + 1e-9),
             "a measurement costs more than was announced");
  ++probes_;
  cost_usd_ += measured.usd;
}

double ActiveProbes::left_usd(double job_usd) const {
  return std::isfinite(job_usd) ? options_.budget * options_.reuse_jobs * job_usd - cost_usd_ : 0;
}

double ActiveProbes::jobs_to_come() const {
  return std::max(0.0, options_.reuse_jobs - static_cast<double>(arrived_.size()) + 1);
}

double ActiveProbes::arrive(const JobLimits& job, double now_s) {
  arrived_.push_back(job);
  if (candidates_.empty()) return 0;
  const double waited_s = measure(job, now_s);
  return wait_for_trainings(job, now_s, waited_s);
}

double ActiveProbes::measure(const JobLimits& job, double now_s) {
  if (now_s < busy_until_s_) return 0;
  // Thinking takes time too: again when a training has ended, when a job asks for more than any before, and ever more seldom.
  const auto ended = static_cast<std::size_t>(
      std::count_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.training > 0 && row.known_s <= now_s; }));
  const bool asks_more = job.floor > highest_floor_ || job.deadline_s < shortest_s_;
  if (ended == ended_ && !asks_more && arrived_.size() < think_at_) return 0;
  ended_ = ended;
  think_at_ = 2 * arrived_.size();
  highest_floor_ = std::fmax(highest_floor_, job.floor);
  shortest_s_ = std::min(shortest_s_, job.deadline_s);
  const double waits_until_s = time_more(now_s, job);
  train_more(busy_until_s_);
  return waits_until_s - now_s;
}

}  // namespace rehearse::policies
