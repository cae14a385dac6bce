#include "policies/learn/probe_outlook.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rehearse::policies {

namespace {

constexpr double kForeverEpochs = 30;  // log epochs beyond which nobody trains
constexpr double kUnknownStepS = 6;    // that a step may take where nothing is known yet
/// FromHistory's: of the way from expected to pessimistic money, by which it ranks.
constexpr double kRankingCaution = 0.5, kRankingCautionOfBelief = 0.25;
constexpr double kFasterFor = 1.25;  // a training may cost so much more than the cheapest to be over sooner
constexpr double kKnownWidth = 0.5;  // of log seconds, where a configuration's time counts as known
constexpr double kNeverReached = 2;  // a share above 1: never

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

ProbeOutlook::ProbeOutlook(std::span<const ProbeCandidate> candidates, std::span<const PastRun> runs,
                           const ActiveOptions& options, std::vector<JobLimits> limits)
    : candidates_(candidates), options_(options), limits_(std::move(limits)) {
  std::map<std::string, std::vector<PastRun>> by_instance;
  for (const PastRun& run : runs)
    if (tells_time(run)) by_instance[run.instance].push_back(run);
  std::map<std::string, TimeEnvelope> envelopes;
  std::map<double, std::size_t> slot_of_batch;
  for (const auto& [instance, of] : by_instance)
    envelopes.emplace(instance, TimeEnvelope(of, options.envelope, options.believed));
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
  const EpochEnvelope epochs(runs, options.envelope, options.believed);
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

double ProbeOutlook::safe_s(std::size_t job, std::size_t c) const {
  const double epochs = training_[job][slot_[c]].safe;
  if (std::isinf(epochs) || std::isinf(longest_epoch_s_[c])) return kUnbounded;
  return candidates_[c].start_s + epochs * longest_epoch_s_[c] * (1 + options_.margins.time);
}

double ProbeOutlook::soonest_s(std::size_t job) const {
  double soonest = kUnbounded;
  for (std::size_t c = 0; c < candidates_.size(); ++c)
    if (may_take(job, c)) soonest = std::min(soonest, safe_s(job, c));
  return soonest;
}

ProbeOutlook::Decision ProbeOutlook::decide(std::size_t job) const {
  Decision out{.candidate = candidates_.size()};
  double best = kUnbounded, soonest = kUnbounded;
  const double caution = options_.believed != nullptr ? kRankingCautionOfBelief : kRankingCaution;
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    if (!may_take(job, c) || std::isinf(times_[c].high)) continue;
    const double safe = safe_s(job, c), usd = expected_usd(job, c);
    if (safe < kUnbounded && safe <= limits_[job].deadline_s) {
      const double ranked = (1 - caution) * usd + caution * candidates_[c].usd_per_s * safe;
      if (ranked < best) {
        best = ranked;
        out.candidate = c;
        out.usd = usd;
      }
    }
    const double fast = candidates_[c].start_s + epoch_s_[c] * training_[job][slot_[c]].likely;
    if (fast < soonest) {
      soonest = fast;
      out.unsure_usd = 2 * usd;
    }
  }
  if (out.candidate == candidates_.size()) out.usd = out.unsure_usd;
  return out;
}

std::vector<ProbeOutlook::Decision> ProbeOutlook::decisions() const {
  std::vector<Decision> all;
  for (std::size_t job = 0; job < limits_.size(); ++job) all.push_back(decide(job));
  return all;
}

double ProbeOutlook::worth_usd() const { return decided_usd(decisions()); }

double ProbeOutlook::decided_usd(std::span<const Decision> before) const {
  double sum = 0;
  for (std::size_t job = 0; job < limits_.size(); ++job)
    sum += before[job].candidate == candidates_.size() ? decide(job).unsure_usd : expected_usd(job, before[job].candidate);
  return sum / static_cast<double>(limits_.size());
}

void ProbeOutlook::imagine_time(std::size_t candidate, double share) {
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

void ProbeOutlook::imagine_training(std::size_t slot, double share) {
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

bool ProbeOutlook::may_never(std::size_t slot) const {
  return std::any_of(epochs_.begin(), epochs_.end(), [&](const auto& of_job) { return of_job[slot].high > kForeverEpochs; });
}

double ProbeOutlook::likely_high(std::size_t job, std::size_t slot) const {
  const LogBounds& e = epochs_[job][slot];
  return e.high > kForeverEpochs ? std::max(e.low + 1, std::log(std::max(2.0, limits_[job].epochs))) : e.high;
}

void ProbeOutlook::settle_time(std::size_t c) {
  epoch_s_[c] = candidates_[c].run.samples * mean_exp(times_[c]);
  longest_epoch_s_[c] = candidates_[c].run.samples * std::exp(times_[c].high);
}

void ProbeOutlook::settle_training(std::size_t job, std::size_t slot) {
  const double again = limits_[job].readings - 1;
  LogBounds e = epochs_[job][slot];
  Training& out = training_[job][slot];
  out.safe = e.high > kForeverEpochs ? kUnbounded : std::ceil(std::exp(e.high) * (1 + options_.margins.epochs) - 1e-9) + again;
  e.high = likely_high(job, slot);
  out.expected = mean_exp(e) + again;
  out.likely = std::exp(e.high) + again;
}

double ProbeOutlook::longest_step_s(std::size_t c) const {
  return std::isinf(times_[c].high) ? kUnknownStepS : std::exp(times_[c].high) * candidates_[c].run.batch_size;
}

bool ProbeOutlook::is_known(std::size_t candidate) const { return times_[candidate].width() < kKnownWidth; }

std::vector<double> ProbeOutlook::shares_of_training(std::size_t slot) const {
  if (may_never(slot)) return {0.25, 0.75, kNeverReached};
  return {std::begin(kImaginedShares), std::end(kImaginedShares)};
}

std::size_t ProbeOutlook::trainer_of(std::size_t slot, double spare_usd) const {
  std::size_t cheapest = candidates_.size();
  const auto usd = [&](std::size_t c) { return candidates_[c].usd_per_s * epoch_s_[c]; };
  for (std::size_t c = 0; c < candidates_.size(); ++c)
    if (!candidates_[c].too_large && slot_[c] == slot && is_known(c) &&
        (cheapest == candidates_.size() || usd(c) < usd(cheapest)))
      cheapest = c;
  std::size_t chosen = cheapest;
  for (std::size_t c = 0; c < candidates_.size() && cheapest < candidates_.size(); ++c)
    if (!candidates_[c].too_large && slot_[c] == slot && is_known(c) &&
        usd(c) <= std::max(kFasterFor * usd(cheapest), std::min(2 * usd(cheapest), usd(cheapest) + spare_usd)) &&
        epoch_s_[c] < epoch_s_[chosen])
      chosen = c;
  return chosen;
}

}  // namespace rehearse::policies
