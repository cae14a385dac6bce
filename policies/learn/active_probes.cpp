#include "policies/learn/active_probes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr double kForeverEpochs = 30;  // log epochs beyond which nobody trains
constexpr double kProbeSteps = 50;     // that are timed, at least
constexpr double kProbeSeconds = 5;    // for which steps are timed, at least
constexpr double kUnknownStepS = 6;    // that a step may take where nothing is known yet
constexpr double kRankingCaution =
    0.5;                              // FromHistory's: of the way from expected to pessimistic money, which choices are ranked by
constexpr std::size_t kWaveSize = 8;  // measurements at a time
constexpr int kMostWaves = 4;         // of timed steps, one after the other, at one date
constexpr std::size_t kTypicalJobs = 5;  // jobs that stand for all that have arrived
constexpr double kFasterFor = 1.25;      // a training may cost so much more than the cheapest to be over sooner
constexpr double kPatience = 0.5;        // of what a deadline leaves, that a job may wait for trainings
constexpr double kWorthWaiting = 0.9;    // of a job's money: if it becomes less, the job waits for it
constexpr double kSpare = 0.002;         // of what the jobs to come will cost: for trainings that are over sooner, or go on
constexpr double kKnownWidth = 0.5;      // of log seconds, where a configuration's time counts as known
constexpr std::size_t kTried = 40;       // configurations whose steps are worth thinking of

/// The mean of exp over an interval.
double mean_exp(const LogBounds& i) {
  const double width = i.width();
  return width < 1e-6 ? std::exp(i.middle()) : (std::exp(i.high) - std::exp(i.low)) / width;
}

LogBounds met(const LogBounds& a, double low, double high) {
  const LogBounds both{std::max(a.low, low), std::min(a.high, high)};
  return both.low <= both.high ? both : LogBounds{both.middle(), both.middle()};
}

}  // namespace

/// What decisions are worth, by what is known and what is imagined.
class ActiveProbes::Outlook {
 public:
  Outlook(std::span<const ProbeCandidate> candidates, std::span<const PastRun> runs, const ActiveOptions& options,
          std::vector<JobLimits> limits)
      : candidates_(candidates), options_(options), limits_(std::move(limits)) {
    std::map<std::string, std::vector<PastRun>> by_instance;
    for (const PastRun& run : runs)
      if (tells_time(run)) by_instance[run.instance].push_back(run);
    std::map<std::string, TimeEnvelope> envelopes;
    std::map<double, std::size_t> slot_of_batch;
    for (const auto& [instance, of] : by_instance) envelopes.emplace(instance, TimeEnvelope(of, options.envelope));
    for (const ProbeCandidate& c : candidates) {
      workers_.push_back(std::log(c.run.workers));
      batches_.push_back(std::log(c.run.batch_size));
      const auto envelope = envelopes.find(c.instance);
      times_.push_back(envelope == envelopes.end() ? LogBounds{0, kUnbounded}
                                                   : envelope->second.bounds(workers_.back(), batches_.back()));
      noise_.push_back(envelope == envelopes.end() ? 0 : envelope->second.deviations() * options.envelope.time_noise);
      slack_.push_back(envelope == envelopes.end() ? TimeSlack{} : envelope->second.slack());
      if (slot_of_batch.emplace(c.run.batch_size, slots_.size()).second) slots_.push_back(batches_.back());
      slot_.push_back(slot_of_batch.at(c.run.batch_size));
    }
    const EpochEnvelope epochs(runs, options.envelope);
    for (const JobLimits& job : limits_) {
      std::vector<LogBounds> of_job;
      for (const double batch : slots_) {
        if (std::isnan(job.floor) || epochs.empty()) {
          const double certain = std::log(std::max(1.0, job.epochs));
          of_job.push_back({certain, certain});
        } else {
          of_job.push_back(epochs.bounds(batch, job.floor));
        }
      }
      epochs_.push_back(std::move(of_job));
    }
    for (const double batch : slots_) trained_.push_back(epochs.trained(batch));
    epoch_noise_ = options.envelope.epoch_noise;
    epoch_s_.resize(candidates.size());
    longest_epoch_s_.resize(candidates.size());
    for (std::size_t c = 0; c < candidates.size(); ++c) settle_time(c);
    training_.assign(limits_.size(), std::vector<Training>(slots_.size()));
    for (std::size_t job = 0; job < limits_.size(); ++job)
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) settle_training(job, slot);
  }

  std::size_t size() const { return candidates_.size(); }
  std::size_t batches() const { return slots_.size(); }
  std::size_t slot(std::size_t candidate) const { return slot_[candidate]; }
  const LogBounds& time(std::size_t candidate) const { return times_[candidate]; }
  const LogBounds& epochs(std::size_t job, std::size_t slot) const { return epochs_[job][slot]; }
  double trained(std::size_t slot) const { return trained_[slot]; }
  const std::vector<JobLimits>& limits() const { return limits_; }
  bool is_known(std::size_t candidate) const { return times_[candidate].width() < kKnownWidth; }
  double epoch_s(std::size_t c) const { return epoch_s_[c]; }
  double longest_epoch_s(std::size_t c) const { return longest_epoch_s_[c]; }
  double longest_step_s(std::size_t c) const {
    return std::isinf(times_[c].high) ? kUnknownStepS : std::exp(times_[c].high) * candidates_[c].run.batch_size;
  }

  double safe_s(std::size_t job, std::size_t c) const {
    const double epochs = training_[job][slot_[c]].safe;
    if (std::isinf(epochs) || std::isinf(longest_epoch_s_[c])) return kUnbounded;
    return candidates_[c].start_s + epochs * longest_epoch_s_[c] * (1 + options_.margins.time);
  }
  double expected_usd(std::size_t job, std::size_t c) const {
    return candidates_[c].usd_per_s * (candidates_[c].start_s + epoch_s_[c] * training_[job][slot_[c]].expected);
  }
  double least_s(std::size_t job, std::size_t c) const {
    return candidates_[c].start_s + candidates_[c].run.samples * std::exp(times_[c].low + epochs_[job][slot_[c]].low);
  }
  double least_usd(std::size_t job, std::size_t c) const { return candidates_[c].usd_per_s * least_s(job, c); }
  bool may_take(std::size_t job, std::size_t c) const {
    return !candidates_[c].too_large &&
           (limits_[job].batch_size == 0 || limits_[job].batch_size == candidates_[c].run.batch_size);
  }
  /// Could it keep the deadline, at its best?
  bool may_keep(std::size_t job, std::size_t c) const { return may_take(job, c) && least_s(job, c) <= limits_[job].deadline_s; }

  /// Money of the choice that would be made for a job like this one; where none is sure to keep the limits, the fastest one's
  /// twice: a broken limit costs the run again.
  double worth_usd(std::size_t job) const {
    double best = kUnbounded, best_usd = kUnbounded, soonest = kUnbounded, soonest_usd = kUnbounded;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (!may_take(job, c) || std::isinf(times_[c].high)) continue;
      const double safe = safe_s(job, c), usd = expected_usd(job, c);
      if (safe < kUnbounded && safe <= limits_[job].deadline_s) {
        const double ranked = (1 - kRankingCaution) * usd + kRankingCaution * candidates_[c].usd_per_s * safe;
        if (ranked < best) {
          best = ranked;
          best_usd = usd;
        }
      }
      const double fast = candidates_[c].start_s + epoch_s_[c] * training_[job][slot_[c]].likely;
      if (fast < soonest) {
        soonest = fast;
        soonest_usd = usd;
      }
    }
    return best < kUnbounded ? best_usd : 2 * soonest_usd;
  }
  double worth_usd() const {
    double sum = 0;
    for (std::size_t job = 0; job < limits_.size(); ++job) sum += worth_usd(job);
    return sum / static_cast<double>(limits_.size());
  }

  /// As if the steps of this one had been timed, `share` of the way up its interval.
  void imagine_time(std::size_t candidate, double share) {
    const LogBounds& of = times_[candidate];
    TimePoint point{.workers = workers_[candidate], .batch = batches_[candidate], .seconds = of.low + share * of.width()};
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (candidates_[c].instance != candidates_[candidate].instance) continue;
      const double noise = noise_[candidate];
      times_[c] = met(times_[c], low_from(point, slack_[c], workers_[c], batches_[c]) - noise,
                      high_from(point, slack_[c], workers_[c], batches_[c]) + noise);
      settle_time(c);
    }
  }
  /// As if this batch had been trained; `share` above 1: it never reaches the floors.
  void imagine_training(std::size_t slot, double share) {
    for (std::size_t job = 0; job < limits_.size(); ++job) {
      const LogBounds of = epochs_[job][slot];
      const double high = of.high > kForeverEpochs ? likely_high(job, slot) : of.high;
      const double at = of.low + std::min(share, 1.0) * (high - of.low);
      for (std::size_t s = 0; s < slots_.size(); ++s) {
        const double larger = slots_[s] - slots_[slot];
        LogBounds& e = epochs_[job][s];
        if (share > 1) {
          if (larger >= 0) e = {std::max(e.low, high), kUnbounded};
        } else {
          const double up = larger <= 0.7 ? at + std::max(0.0, larger) + epoch_noise_ : kUnbounded;
          e = met(e, at + std::min(0.0, larger) - epoch_noise_, up);
        }
        settle_training(job, s);
      }
    }
  }
  /// Whether a training at this batch may never reach the floors.
  bool may_never(std::size_t slot) const {
    return std::any_of(epochs_.begin(), epochs_.end(), [&](const auto& of_job) { return of_job[slot].high > kForeverEpochs; });
  }
  double likely_high(std::size_t job, std::size_t slot) const {
    const LogBounds& e = epochs_[job][slot];
    return e.high > kForeverEpochs ? std::max(e.low + 1, std::log(std::max(2.0, limits_[job].epochs))) : e.high;
  }

 private:
  /// Epochs of a job at a batch.
  struct Training {
    double safe = 0, expected = 0, likely = 0;
  };
  void settle_time(std::size_t c) {
    epoch_s_[c] = candidates_[c].run.samples * mean_exp(times_[c]);
    longest_epoch_s_[c] = candidates_[c].run.samples * std::exp(times_[c].high);
  }
  void settle_training(std::size_t job, std::size_t slot) {
    const double again = limits_[job].readings - 1;
    LogBounds e = epochs_[job][slot];
    Training& out = training_[job][slot];
    out.safe = e.high > kForeverEpochs ? kUnbounded : std::ceil(std::exp(e.high) * (1 + options_.margins.epochs) - 1e-9) + again;
    e.high = likely_high(job, slot);
    out.expected = mean_exp(e) + again;
    out.likely = std::exp(e.high) + again;
  }

  std::span<const ProbeCandidate> candidates_;
  const ActiveOptions& options_;
  std::vector<JobLimits> limits_;
  std::vector<double> epoch_s_, longest_epoch_s_;
  std::vector<std::vector<Training>> training_;  // by job and batch
  std::vector<double> workers_, batches_, noise_;
  std::vector<TimeSlack> slack_;
  std::vector<LogBounds> times_;
  std::vector<double> slots_, trained_;  // of each batch: its logarithm, epochs of the longest training
  std::vector<std::size_t> slot_;
  std::vector<std::vector<LogBounds>> epochs_;  // by job and batch
  double epoch_noise_ = 0;
};

namespace {

constexpr double kImaginedShares[] = {1.0 / 6, 0.5, 5.0 / 6};
constexpr double kNeverReached = 2;  // a share above 1: never

/// Mean worth after what is imagined with each share.
template <class Outlook, class Imagine>
double worth_after(const Outlook& now, std::span<const double> shares, Imagine&& imagine) {
  double sum = 0;
  for (const double share : shares) {
    Outlook then = now;
    imagine(then, share);
    sum += then.worth_usd();
  }
  return sum / static_cast<double>(shares.size());
}

template <class Outlook>
std::vector<double> shares_of_training(const Outlook& outlook, std::size_t slot) {
  if (outlook.may_never(slot)) return {0.25, 0.75, kNeverReached};
  return {kImaginedShares[0], kImaginedShares[1], kImaginedShares[2]};
}

/// The candidate that trains this batch: the cheapest whose time is known, or one that is over sooner for little more. None:
/// size.
template <class Outlook>
std::size_t trainer_of(const Outlook& outlook, std::span<const ProbeCandidate> candidates, std::size_t slot, double spare_usd) {
  std::size_t cheapest = candidates.size();
  const auto usd = [&](std::size_t c) { return candidates[c].usd_per_s * outlook.epoch_s(c); };
  for (std::size_t c = 0; c < candidates.size(); ++c)
    if (!candidates[c].too_large && outlook.slot(c) == slot && outlook.is_known(c) &&
        (cheapest == candidates.size() || usd(c) < usd(cheapest)))
      cheapest = c;
  std::size_t chosen = cheapest;
  for (std::size_t c = 0; c < candidates.size() && cheapest < candidates.size(); ++c)
    if (!candidates[c].too_large && outlook.slot(c) == slot && outlook.is_known(c) &&
        usd(c) <= std::max(kFasterFor * usd(cheapest), std::min(2 * usd(cheapest), usd(cheapest) + spare_usd)) &&
        outlook.epoch_s(c) < outlook.epoch_s(chosen))
      chosen = c;
  return chosen;
}

}  // namespace

ActiveProbes::ActiveProbes(std::vector<ProbeCandidate> candidates, const PastRun& recipe, const ActiveOptions& options,
                           Laboratory& laboratory)
    : candidates_(std::move(candidates)), options_(options), laboratory_(laboratory), timed_(candidates_.size(), false) {
  if (recipe.epochs > 0) rows_.push_back({recipe, -kUnbounded});
}

std::vector<PastRun> ActiveProbes::known(double at_s) const {
  std::map<double, std::size_t> last;  // of each training the row that says most
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].training > 0 && rows_[i].known_s <= at_s) last[rows_[i].training] = i;
  std::vector<PastRun> runs;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].known_s <= at_s && (rows_[i].training == 0 || last.at(rows_[i].training) == i)) runs.push_back(rows_[i].run);
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

/// Without the time of a step on an instance nothing can be said of it: its fewest workers, at the batch nearest to the recipe's.
double ActiveProbes::time_first(double now_s) {
  const double usual = rows_.empty() ? 0 : std::log(rows_.front().run.batch_size);
  std::map<std::string, std::size_t> first;
  const auto distance = [&](std::size_t c) {
    const PlannedRun& run = candidates_[c].run;
    return std::make_pair(usual > 0 ? std::abs(std::log(run.batch_size) - usual) : 0.0, run.workers);
  };
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    const auto [known, is_new] = first.emplace(candidates_[c].instance, c);
    if (!is_new && distance(c) < distance(known->second)) known->second = c;
  }
  std::vector<std::size_t> wave;
  for (const auto& [instance, candidate] : first) wave.push_back(candidate);
  const Outlook outlook(candidates_, known(now_s), options_, arrived_);
  return buy_times(wave, outlook, now_s);
}

double ActiveProbes::buy_times(std::span<const std::size_t> wave, const Outlook& outlook, double now_s) {
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

double ActiveProbes::soonest_s(const JobLimits& job, double at_s) const {
  const Outlook outlook(candidates_, known(at_s), options_, {job});
  double soonest = kUnbounded;
  for (std::size_t c = 0; c < candidates_.size(); ++c)
    if (outlook.may_take(0, c)) soonest = std::min(soonest, outlook.safe_s(0, c));
  return soonest;
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
    Outlook outlook(candidates_, known(begin_s), options_, typical_limits());
    const double soonest = soonest_s(job, begin_s);
    Outlook imagined = outlook;
    std::vector<std::size_t> wave;
    double wave_usd = 0;  // what it will cost
    const double left = left_usd(outlook.worth_usd());
    while (wave.size() < kWaveSize) {
      const double now_usd = imagined.worth_usd();
      std::vector<double> worth;
      for (std::size_t j = 0; j < imagined.limits().size(); ++j) worth.push_back(imagined.worth_usd(j));
      std::vector<std::pair<double, std::size_t>> tried;  // the less it may cost, the sooner
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        if (timed_[c] || imagined.time(c).width() < 1e-3) continue;
        double best = kUnbounded;
        for (std::size_t j = 0; j < imagined.limits().size(); ++j)
          if (imagined.may_keep(j, c)) best = std::min(best, imagined.least_usd(j, c) / worth[j]);
        if (best < 1) tried.emplace_back(best, c);
      }
      std::sort(tried.begin(), tried.end());
      if (tried.size() > kTried) tried.resize(kTried);
      double most = 0;
      std::size_t best = candidates_.size();
      const auto consider = [&](std::size_t c, double after_usd, double price_usd) {
        const double net = jobs * (now_usd - after_usd) - price_usd;
        if (net <= most || price_usd > left - wave_usd) return;
        most = net;
        best = c;
      };
      const auto price_of = [&](std::size_t c) {
        const double steps_s = std::exp(imagined.time(c).middle()) * candidates_[c].run.batch_size * kProbeSteps;
        return laboratory_.price_usd(c, candidates_[c].start_s + std::max(kProbeSeconds, steps_s));
      };
      for (const auto& [least, c] : tried) {
        const auto imagine = [c = c](Outlook& then, double share) { then.imagine_time(c, share); };
        consider(c, worth_after(imagined, kImaginedShares, imagine), price_of(c));
      }
      // A time and a training may pay only together.
      for (std::size_t i = 0; i < std::min<std::size_t>(tried.size(), 8) && best == candidates_.size(); ++i) {
        const std::size_t c = tried[i].second, slot = imagined.slot(c);
        const std::vector<double> shares = shares_of_training(imagined, slot);
        const auto both = [&](Outlook& then, double share) {
          then.imagine_time(c, 0.5);
          then.imagine_training(slot, share);
        };
        double epochs = 0;
        for (std::size_t j = 0; j < imagined.limits().size(); ++j)
          epochs = std::max(epochs, std::exp(0.5 * (imagined.epochs(j, slot).low + imagined.likely_high(j, slot))));
        consider(c, worth_after(imagined, shares, both),
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
  const Outlook outlook(candidates_, known(now_s), options_, typical_limits());
  Outlook imagined = outlook;
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
    const double now_usd = imagined.worth_usd();
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
      const std::size_t trainer = trainer_of(outlook, candidates_, slot, spare_usd / epochs);
      if (trainer == candidates_.size() || width < 3 * options_.envelope.epoch_noise + 0.05) continue;
      const auto imagine = [slot](Outlook& then, double share) { then.imagine_training(slot, share); };
      const double after = worth_after(imagined, shares_of_training(imagined, slot), imagine);
      const auto training = trainings_.find(batch_of(trainer));
      const double done = training == trainings_.end() ? 0 : training->second.epochs;
      const double price =
          laboratory_.price_usd(trainer, candidates_[trainer].start_s + std::max(1.0, epochs - done) * outlook.epoch_s(trainer));
      const double net = jobs * (now_usd - after) - price;
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
  training.epochs = measured.run.epochs;
  training.end_s = now_s + measured.held_s;
  const std::vector<double>& curve = measured.run.curve;
  const bool twice = curve.size() > 1 && std::min(curve.back(), curve[curve.size() - 2]) >= plan.until;
  training.reached = twice ? plan.until : training.reached;
  rows_.push_back({std::move(measured.run), training.end_s, batch, expected_s});
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
    return Outlook(candidates_, runs, options_, {later});
  };
  const double latest_s = std::isinf(job.deadline_s) ? kUnbounded : kPatience * (job.deadline_s - soonest_s(job, from_s));
  double best_usd = outlook_after(waited_s).worth_usd(), best_s = waited_s;
  for (std::size_t k = 0; k < pending.size(); ++k) {
    const double wait_s = std::max(waited_s, pending[k]->expected_s - now_s);
    if (wait_s > latest_s) break;
    const Outlook now = outlook_after(wait_s);
    const double usd = worth_after(now, kImaginedShares, [&](Outlook& then, double share) {
      for (std::size_t i = 0; i <= k; ++i)
        for (std::size_t c = 0; c < candidates_.size(); ++c)
          if (candidates_[c].run.batch_size == pending[i]->training) {
            then.imagine_training(then.slot(c), share);
            break;
          }
    });
    if (usd >= kWorthWaiting * best_usd) continue;
    best_usd = usd;
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
