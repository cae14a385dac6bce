#include "policies/learn/active_probes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace rehearse::policies {

namespace {

constexpr double kForeverEpochs = 30;  // log epochs beyond which nobody trains
constexpr double kProbeSteps = 50;     // that are timed, at least
constexpr double kProbeSeconds = 5;    // for which steps are timed, at least
constexpr double kUnknownStepS = 6;    // that a step may take where nothing is known yet
constexpr double kRankingCaution =
    0.5;                              // FromHistory's: of the way from expected to pessimistic money, which choices are ranked by
constexpr std::size_t kWaveSize = 8;  // measurements at a time
constexpr int kMostWaves = 8;         // of timed steps, one after the other, at one date
constexpr std::size_t kTypicalJobs = 5;  // jobs that stand for all that have arrived
constexpr double kFasterFor = 1.25;      // a training may cost so much more than the cheapest to be over sooner
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
      if (run.told != Told::recipe) by_instance[run.instance].push_back(run);
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
  }

  std::size_t size() const { return candidates_.size(); }
  std::size_t batches() const { return slots_.size(); }
  std::size_t slot(std::size_t candidate) const { return slot_[candidate]; }
  const LogBounds& time(std::size_t candidate) const { return times_[candidate]; }
  const LogBounds& epochs(std::size_t job, std::size_t slot) const { return epochs_[job][slot]; }
  double trained(std::size_t slot) const { return trained_[slot]; }
  const std::vector<JobLimits>& limits() const { return limits_; }
  bool is_known(std::size_t candidate) const { return times_[candidate].width() < kKnownWidth; }
  double epoch_s(std::size_t c) const { return candidates_[c].run.samples * mean_exp(times_[c]); }
  double longest_epoch_s(std::size_t c) const { return candidates_[c].run.samples * std::exp(times_[c].high); }
  double longest_step_s(std::size_t c) const {
    return std::isinf(times_[c].high) ? kUnknownStepS : std::exp(times_[c].high) * candidates_[c].run.batch_size;
  }

  double safe_s(std::size_t job, std::size_t c) const {
    const LogBounds& e = epochs_[job][slot_[c]];
    if (e.high > kForeverEpochs || std::isinf(times_[c].high)) return kUnbounded;
    const double epochs = std::ceil(std::exp(e.high) * (1 + options_.margins.epochs) - 1e-9) + limits_[job].readings - 1;
    return options_.start_s + epochs * candidates_[c].run.samples * std::exp(times_[c].high) * (1 + options_.margins.time);
  }
  double expected_usd(std::size_t job, std::size_t c) const {
    LogBounds e = epochs_[job][slot_[c]];
    if (e.high > kForeverEpochs) e.high = likely_high(job, slot_[c]);
    return candidates_[c].usd_per_s * (options_.start_s + epoch_s(c) * (mean_exp(e) + limits_[job].readings - 1));
  }
  double least_usd(std::size_t job, std::size_t c) const {
    return candidates_[c].usd_per_s *
           (options_.start_s + candidates_[c].run.samples * std::exp(times_[c].low + epochs_[job][slot_[c]].low));
  }
  bool may_take(std::size_t job, std::size_t c) const {
    return limits_[job].batch_size == 0 || limits_[job].batch_size == candidates_[c].run.batch_size;
  }
  /// Could it keep the deadline, at its best?
  bool may_keep(std::size_t job, std::size_t c) const {
    return may_take(job, c) &&
           options_.start_s + candidates_[c].run.samples * std::exp(times_[c].low + epochs_[job][slot_[c]].low) <=
               limits_[job].deadline_s;
  }

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
      const double fast =
          options_.start_s + epoch_s(c) * std::exp(std::min(epochs_[job][slot_[c]].high, likely_high(job, slot_[c])));
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
  std::span<const ProbeCandidate> candidates_;
  const ActiveOptions& options_;
  std::vector<JobLimits> limits_;
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
std::size_t trainer_of(const Outlook& outlook, std::span<const ProbeCandidate> candidates, std::size_t slot) {
  std::size_t cheapest = candidates.size();
  const auto usd = [&](std::size_t c) { return candidates[c].usd_per_s * outlook.epoch_s(c); };
  for (std::size_t c = 0; c < candidates.size(); ++c)
    if (outlook.slot(c) == slot && outlook.is_known(c) && (cheapest == candidates.size() || usd(c) < usd(cheapest))) cheapest = c;
  std::size_t chosen = cheapest;
  for (std::size_t c = 0; c < candidates.size() && cheapest < candidates.size(); ++c)
    if (outlook.slot(c) == slot && outlook.is_known(c) && usd(c) <= kFasterFor * usd(cheapest) &&
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
  std::vector<PastRun> runs;
  for (const Row& row : rows_)
    if (row.known_s <= at_s) runs.push_back(row.run);
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
    const double most_s = options_.start_s + std::max(kProbeSeconds, kProbeSteps * outlook.longest_step_s(c));
    Laboratory::Measured measured = laboratory_.time_steps(c, most_s);
    if (!measured.fits) continue;
    ++probes_;
    cost_usd_ += measured.usd;
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
  const double jobs = std::max(0.0, options_.reuse_jobs - static_cast<double>(arrived_.size()) + 1);
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
    while (wave.size() < kWaveSize) {
      const double now_usd = imagined.worth_usd();
      std::vector<std::pair<double, std::size_t>> tried;  // the less it may cost, the sooner
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        if (timed_[c] || imagined.time(c).width() < 1e-3) continue;
        double best = kUnbounded;
        for (std::size_t j = 0; j < imagined.limits().size(); ++j)
          if (imagined.may_keep(j, c)) best = std::min(best, imagined.least_usd(j, c) / imagined.worth_usd(j));
        if (best < 1) tried.emplace_back(best, c);
      }
      std::sort(tried.begin(), tried.end());
      if (tried.size() > kTried) tried.resize(kTried);
      double most = 0;
      std::size_t best = candidates_.size();
      const auto consider = [&](std::size_t c, double after_usd, double price_usd) {
        const double net = jobs * (now_usd - after_usd) - price_usd;
        if (net <= most) return;
        most = net;
        best = c;
      };
      const auto price_of = [&](std::size_t c) {
        const double steps_s = std::exp(imagined.time(c).middle()) * candidates_[c].run.batch_size * kProbeSteps;
        return laboratory_.price_usd(c, options_.start_s + std::max(kProbeSeconds, steps_s));
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
                 price_of(c) + laboratory_.price_usd(c, options_.start_s + epochs * imagined.epoch_s(c)));
      }
      if (best == candidates_.size()) break;
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

void ActiveProbes::train_more(double now_s) {
  const double jobs = std::max(0.0, options_.reuse_jobs - static_cast<double>(arrived_.size()) + 1);
  const Outlook outlook(candidates_, known(now_s), options_, typical_limits());
  double until = 0, cap = 1;
  for (const JobLimits& job : arrived_) {
    if (std::isnan(job.floor)) continue;
    until = std::max(until, job.floor);
    cap = std::max(cap, job.epochs);
  }
  if (until == 0) return;
  Outlook imagined = outlook;
  std::set<std::size_t> chosen;
  while (chosen.size() < kWaveSize) {
    const double now_usd = imagined.worth_usd();
    double most = 0, epochs_of_best = 0;
    std::size_t best = candidates_.size();
    for (std::size_t slot = 0; slot < imagined.batches(); ++slot) {
      if (chosen.contains(slot)) continue;
      const std::size_t trainer = trainer_of(outlook, candidates_, slot);
      if (trainer == candidates_.size()) continue;
      double epochs = 1, width = 0;
      for (std::size_t j = 0; j < imagined.limits().size(); ++j) {
        const double high = imagined.likely_high(j, slot);
        epochs = std::max(epochs, std::exp(0.5 * (imagined.epochs(j, slot).low + high)));
        width = std::max(width, imagined.epochs(j, slot).width());
      }
      if (width < 3 * options_.envelope.epoch_noise + 0.05) continue;
      const auto imagine = [slot](Outlook& then, double share) { then.imagine_training(slot, share); };
      const double after = worth_after(imagined, shares_of_training(imagined, slot), imagine);
      const double price = laboratory_.price_usd(
          trainer, options_.start_s + std::max(1.0, epochs - outlook.trained(slot)) * outlook.epoch_s(trainer));
      const double net = jobs * (now_usd - after) - price;
      if (net <= most) continue;
      most = net;
      best = trainer;
      epochs_of_best = std::min(cap, std::ceil(2 * epochs));
    }
    if (best == candidates_.size()) break;
    const std::size_t slot = imagined.slot(best);
    chosen.insert(slot);
    const double most_s = options_.start_s + epochs_of_best * outlook.longest_epoch_s(best);
    Laboratory::Measured measured = laboratory_.train(best, until, epochs_of_best, most_s);
    imagined.imagine_training(slot, 0.5);
    if (!measured.fits) continue;
    ++probes_;
    cost_usd_ += measured.usd;
    busy_until_s_ = std::max(busy_until_s_, now_s + measured.held_s);
    rows_.push_back({std::move(measured.run), now_s + measured.held_s});
  }
}

double ActiveProbes::arrive(const JobLimits& job, double now_s) {
  arrived_.push_back(job);
  if (candidates_.empty() || now_s < busy_until_s_) return 0;
  const double waits_until_s = time_more(now_s, job);
  train_more(busy_until_s_);
  return waits_until_s - now_s;
}

}  // namespace rehearse::policies
