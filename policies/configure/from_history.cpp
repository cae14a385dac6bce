#include "policies/configure/from_history.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "policies/configure/menu.hpp"
#include "sim/base/units.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

bool FromHistory::allowed(const ConfigureView& view, const sim::Configuration& c) const {
  if (c == view.manual) return true;
  const sim::Group &group = c.groups.front(), &manual = view.manual.groups.front();
  switch (use_.frozen) {
    case Frozen::nothing:
      return true;
    case Frozen::batch:
      return c.batch_size() == view.manual.batch_size();
    case Frozen::resources:
      return group.pool == manual.pool && group.workers == manual.workers;
  }
  return false;
}

namespace {

constexpr std::size_t kMostAnswers = 16;  // of a profile: whole menus
constexpr double kForever_s = 1e12;       // which no training takes: nothing sets its bound
constexpr const char* kTooLarge = "does not fit memory";

void add_note(std::string& note, const char* text) { note += (note.empty() ? "" : "; ") + std::string(text); }

/// Does nothing tell the jobs apart that a menu from past runs depends on?
bool asks_the_same(const sim::Job& a, const sim::Job& b) {
  const auto numbers = [](const sim::Job& job) {
    return std::array{std::bit_cast<std::uint64_t>(job.target_accuracy),  // none is no number, which equals nothing
                      std::bit_cast<std::uint64_t>(job.gpu_fraction),    std::bit_cast<std::uint64_t>(job.duration_s),
                      std::bit_cast<std::uint64_t>(job.steps),           std::bit_cast<std::uint64_t>(job.batch_size),
                      std::bit_cast<std::uint64_t>(job.epochs),          std::bit_cast<std::uint64_t>(job.readings),
                      std::bit_cast<std::uint64_t>(job.deadline_s),      std::bit_cast<std::uint64_t>(job.cost_limit_usd)};
  };
  return a.work == b.work && a.gpus == b.gpus && a.pool == b.pool && a.objective == b.objective && a.stop == b.stop &&
         numbers(a) == numbers(b);
}

/// Are these all that the history has of the profile?
bool are_runs_of(const sim::Profile& profile, const RunHistory& history, const std::vector<PastRun>& runs) {
  std::size_t at = 0;
  for (const PastRun& run : history.runs()) {
    if (!workloads::is_of(run, profile)) continue;
    if (at == runs.size() || runs[at] != run) return false;
    ++at;
  }
  return at == runs.size();
}

/// Has the configuration run?
bool has_run(const sim::Cluster& cluster, const std::vector<PastRun>& runs, const sim::Configuration& c) {
  const std::string& instance = sim::instance_of(cluster, c.groups.front().pool).name;
  return std::ranges::any_of(runs, [&](const PastRun& run) {
    return run.told == Told::run && run.instance == instance && run.workers == c.workers() && run.batch_size == c.batch_size();
  });
}

}  // namespace

FromHistory::Known& FromHistory::known(const ConfigureView& view) {
  const sim::Profile& profile = *view.job.profile;
  Known& known = known_[profile.index];
  if (!are_runs_of(profile, *view.history, known.runs)) {
    predictors_->forget(profile);
    known.runs = view.history->of(profile);
    known.answers.clear();
  }
  if (known.candidates != view.candidates) {
    known.candidates = view.candidates;
    known.answers.clear();
  }
  return known;
}

sim::Menu FromHistory::configure(const ConfigureView& view, const workloads::Belief& belief) {
  if (predictors_ == nullptr)
    predictors_ = std::make_unique<HistoryPredictors>(*view.history, view.cluster, belief, *learner_, use_.curves,
                                                      use_.weighs_belief ? view.believed : nullptr);
  predictors_->read(*view.history);
  Known& of_profile = known(view);
  std::vector<Known::Answer>& answers = of_profile.answers;
  const auto answered = std::ranges::find_if(
      answers, [&](const Known::Answer& answer) { return answer.manual == view.manual && asks_the_same(answer.job, view.job); });
  if (answered != answers.end()) return answered->menu;
  if (answers.size() == kMostAnswers) answers.erase(answers.begin());
  answers.push_back({.job = view.job, .manual = view.manual, .menu = choose(view, belief, of_profile.runs)});
  return answers.back().menu;
}

sim::Menu FromHistory::choose(const ConfigureView& view, const workloads::Belief& belief, const std::vector<PastRun>& runs) {
  std::vector<PastRun> too_large;
  std::ranges::copy_if(runs, std::back_inserter(too_large), [](const PastRun& run) { return run.told == Told::out_of_memory; });
  const auto is_too_large = [&](const sim::Configuration& c) {
    const std::string& instance = sim::instance_of(view.cluster, c.groups.front().pool).name;
    return std::ranges::any_of(too_large, [&](const PastRun& run) {
      return run.instance == instance && run.batch_size / run.workers <= c.batch_size() / c.workers();
    });
  };
  std::vector<sim::Choice> choices;
  choices.reserve(view.candidates.size());
  for (const sim::Configuration& c : view.candidates) {
    if (!allowed(view, c)) continue;
    if (use_.only_measured && c != view.manual && !has_run(view.cluster, runs, c)) continue;
    choices.push_back({.configuration = c, .predicted = predictors_->predict(view.job, c, view.costs)});
    // Of the candidates manual's need not fit by the belief, and no run can have told; of the others runs may have.
    if (is_too_large(c) || (c == view.manual && !fits_memory(view.job, view.cluster, belief, c))) {
      choices.back().predicted.feasible = false;
      choices.back().predicted.note = kTooLarge;
    }
  }
  sim::Menu menu = rank(view.job, std::move(choices));
  if (!menu.feasible) {
    fall_back(view, menu);
  } else if (use_.exploration > 0) {
    explore(view, runs, menu);
  }
  return menu;
}

/// Where nothing is predicted to keep the limits. Bounds say which choice comes nearest: the accuracy first, whatever the
/// deadline, then the time, so that a looser deadline never makes the choice dearer. Other predictors say nothing about which
/// failure is cheap, and neither do bounds that nothing sets: then what an experienced user would do.
void FromHistory::fall_back(const ConfigureView& view, sim::Menu& menu) const {
  const auto first = [&](auto found) {
    if (found != menu.ranked.end()) std::rotate(menu.ranked.begin(), found, found + 1);
  };
  const auto says_nothing = [](const sim::Choice& c) { return !(c.predicted.time_s < kForever_s); };
  const bool knows_nothing = std::ranges::all_of(menu.ranked, says_nothing);
  if (!learner_->gives_bounds() || knows_nothing) {
    first(std::ranges::find_if(menu.ranked, [&](const sim::Choice& c) { return c.configuration == view.manual; }));
    if (learner_->gives_bounds() && knows_nothing && !menu.ranked.empty())
      add_note(menu.ranked.front().predicted.note, "too few past runs to say anything: manual's choice");
    return;
  }
  const auto order = [&](const sim::Choice& c) {
    const sim::Prediction& p = c.predicted;
    const double usd = std::isnan(p.ranked_cost_usd) ? p.cost_usd : p.ranked_cost_usd;
    const double held_usd = std::isnan(p.safe_cost_usd) ? p.cost_usd : p.safe_cost_usd;
    return std::make_tuple(
        says_nothing(c) || p.note == kTooLarge,
        view.job.has_target() ? std::max(0.0, view.job.target_accuracy - (std::isnan(p.accuracy) ? -1 : p.accuracy)) : 0.0,
        view.job.has_cost_limit() ? std::max(0.0, held_usd - view.job.cost_limit_usd) : 0.0,
        view.job.has_deadline() ? std::max(0.0, p.time_s - view.job.deadline_s) : 0.0, usd);
  };
  first(std::ranges::min_element(menu.ranked, {}, order));
}

/// One step of workers or batch away from the best choice, where nothing has run yet and the limits are sure to be kept: the
/// cheapest of those that cost little more than the best.
void FromHistory::explore(const ConfigureView& view, const std::vector<PastRun>& runs, sim::Menu& menu) const {
  const auto usd = [](const sim::Choice& c) {
    return std::isnan(c.predicted.ranked_cost_usd) ? c.predicted.cost_usd : c.predicted.ranked_cost_usd;
  };
  const sim::Choice best = menu.ranked.front();
  const auto is_step = [](double one, double other) { return one == 2 * other || other == 2 * one; };
  for (auto choice = menu.ranked.begin(); choice != menu.ranked.end() && choice->predicted.feasible; ++choice) {
    const sim::Configuration &c = choice->configuration, &b = best.configuration;
    if (usd(*choice) > (1 + use_.exploration) * usd(best)) break;
    if (c.groups.front().pool != b.groups.front().pool) continue;
    const bool near = (c.workers() == b.workers() && is_step(c.batch_size(), b.batch_size())) ||
                      (c.batch_size() == b.batch_size() && is_step(c.workers(), b.workers()));
    if (!near || has_run(view.cluster, runs, c)) continue;
    choice->predicted.note += choice->predicted.note.empty() ? "explores" : "; explores";
    std::rotate(menu.ranked.begin(), choice, choice + 1);
    return;
  }
}

namespace {

constexpr std::size_t kEnoughRuns = 10;  // with fewer on an instance, those of another one join in

/// Of the way from an epoch's expected to its pessimistic time, for the money that choices are ranked by: of many uncertain ones
/// the one that looks cheapest is rather the one that is most underestimated (the winner's curse).
constexpr double kCaution = 0.5;
/// What is believed is a mean already: of it less is left open.
constexpr double kCautionOfBelief = 0.25;

}  // namespace

/// Seconds of one worker's step of a batch that fits both, `to` over `from`.
double HistoryPredictors::roofline_ratio(const sim::Profile& profile, const std::string& from, const std::string& to) const {
  const workloads::ProfileModel& model = belief_.profiles().of(profile);
  const auto worker_of = [&](const std::string& name) -> const sim::Device* {
    for (const sim::Instance& instance : cluster_.instances)
      if (instance.name == name)
        return &cluster_.devices[static_cast<std::size_t>(instance.gpus.empty() ? instance.cpu : instance.gpus.front().device)];
    return nullptr;
  };
  const sim::Device *a = worker_of(from), *b = worker_of(to);
  if (a == nullptr || b == nullptr) return 1;
  const double fits =
      std::min(model.memory.largest_batch(*a, profile.precision), model.memory.largest_batch(*b, profile.precision));
  const double batch = std::max(1.0, std::min(model.publication_batch, fits));
  const auto seconds = [&](const sim::Device& device) {
    const workloads::Conditions conditions{.batch = batch, .precision = profile.precision, .threads = device.cores};
    const workloads::ComputeTime time =
        model.step.compute_time(device, corrected(conditions, device, model.model, model.dataset));
    return time.worker_s(0);
  };
  return seconds(*b) / seconds(*a);
}

const BelievedRuns* HistoryPredictors::believed(const sim::Profile& profile) {
  if (believed_ == nullptr) return nullptr;
  return &beliefs_.try_emplace(profile.index, *believed_, cluster_, belief_, profile).first->second;
}

void HistoryPredictors::forget(const sim::Profile& profile) {
  std::erase_if(epoch_times_, [&](const auto& entry) { return entry.first.first == profile.index; });
  std::erase_if(accuracies_, [&](const auto& entry) { return entry.first.first == profile.index; });
  std::erase_if(trainings_, [&](const auto& entry) { return std::get<0>(entry.first) == profile.index; });
}

const HistoryPredictors::InstanceTimes& HistoryPredictors::epoch_times(const sim::Job& job, const std::string& instance) {
  const auto key = std::make_pair(job.profile->index, instance);
  const auto known = epoch_times_.find(key);
  if (known != epoch_times_.end()) return known->second;
  const RunHistory::Gathered gathered = history_->on_instance_or_borrowed(
      *job.profile, instance, learner_.borrows() ? kEnoughRuns : 0,
      [&](const std::string& from, const std::string& to) { return roofline_ratio(*job.profile, from, to); });
  return epoch_times_
      .emplace(key, InstanceTimes{learner_.weighed_times(gathered.runs, believed(*job.profile)), gathered.borrowed})
      .first->second;
}

const Accuracies* HistoryPredictors::accuracies(const sim::Job& job, bool asynchronous) {
  const auto key = std::make_pair(job.profile->index, asynchronous);
  const auto known = accuracies_.find(key);
  if (known != accuracies_.end()) return known->second.get();
  std::vector<PastRun> runs = history_->of(*job.profile);
  if (!learner_.reads_curves() && keeps_curves_) runs = points_of_curves(runs);
  return accuracies_.emplace(key, learner_.weighed_accuracies(runs, asynchronous, believed(*job.profile))).first->second.get();
}

HistoryPredictors::Training HistoryPredictors::predict_training(const sim::Job& job, const PlannedRun& run) {
  const double cap = job.epochs > 0 ? job.epochs : belief_.models().convergence->default_epoch_cap(*job.profile);
  Training out{.epochs = cap, .expected_epochs = cap};
  const Accuracies* predictor = accuracies(job, run.asynchronous);
  if (predictor == nullptr) return out;
  std::optional<int> sure;
  if (job.has_target()) {
    const int whole_cap = sim::whole<int>(std::floor(cap), "epochs of a job");
    // The first epoch at the floor is seldom the last: so many evaluations in a row must read it.
    const double again = job.stop == sim::Stop::target ? job.readings - 1 : 0;
    const auto to_the_end = [&](const std::optional<int>& epochs) { return epochs ? std::min(cap, *epochs + again) : cap; };
    sure = fewest_epochs(*predictor, run, job.target_accuracy, whole_cap);
    out.epochs = to_the_end(sure);
    out.expected_epochs = to_the_end(rehearse::policies::expected_epochs(*predictor, run, job.target_accuracy, whole_cap));
  }
  const Prediction accuracy = predictor->accuracy(run, out.epochs);
  out.accuracy = std::clamp(accuracy.safe, sure ? job.target_accuracy : 0.0, 1.0);
  out.extrapolated = accuracy.extrapolated;
  return out;
}

/// Kept, as it is the same for every pool.
const HistoryPredictors::Training& HistoryPredictors::training(const sim::Job& job, const PlannedRun& run) {
  const TrainingKey key{
      job.profile->index, run.batch_size, run.workers, run.asynchronous, job.has_target() ? job.target_accuracy : -1,
      job.epochs,         job.readings};
  const auto known = trainings_.find(key);
  return known != trainings_.end() ? known->second : trainings_.emplace(key, predict_training(job, run)).first->second;
}

sim::Prediction HistoryPredictors::predict(const sim::Job& job, const sim::Configuration& c, const sim::CostRules& costs) {
  sim::Prediction out;
  const sim::Group& group = c.groups.front();
  const double samples = belief_.profiles().of(*job.profile).training_samples;
  const bool asynchronous = c.sync.kind == sim::SyncKind::servers_async;
  const PlannedRun run{.workers = c.workers(),
                       .batch_size = c.batch_size() * (asynchronous ? c.workers() : 1),
                       .samples = samples,
                       .asynchronous = asynchronous};
  // A budget is trained also where nothing says how long that takes.
  if (job.work == sim::Work::train && job.stop == sim::Stop::budget) out.epochs = training(job, run).epochs;
  const InstanceTimes& instance = epoch_times(job, sim::instance_of(cluster_, group.pool).name);
  if (instance.times == nullptr) {
    out.note = "no past run of this profile";
    out.feasible = false;
    return out;
  }
  const Prediction epoch = instance.times->epoch_time_s(run);
  out.extrapolated = epoch.extrapolated;
  if (instance.borrowed) out.note = "times of another instance, scaled";
  if (std::isnan(epoch.expected)) {
    out.note = "never measured";
    out.feasible = false;
    return out;
  }
  double time_scale = 1, money_scale = 1, expected_epochs = 0;
  if (job.work == sim::Work::steps) {
    out.epochs = expected_epochs = job.steps * job.batch_size / samples;
    if (job.duration_s > 0) {  // the trace says how long it takes on the GPUs it had
      const Prediction there =
          instance.times->epoch_time_s({.workers = job.gpus, .batch_size = job.batch_size, .samples = samples});
      time_scale = job.duration_s / (out.epochs * there.expected);
      money_scale = job.duration_s / (out.epochs * there.smooth);
    }
  } else {
    const Training& trained = training(job, run);
    out.epochs = trained.epochs;
    out.accuracy = trained.accuracy;
    out.extrapolated = out.extrapolated || trained.extrapolated;
    if (job.has_target() && std::isnan(out.accuracy))
      add_note(out.note, "no past run of this profile that combined gradients likewise");
    expected_epochs = trained.expected_epochs;
  }
  const double before_s = sim::boot_seconds(cluster_, nullptr, c) + costs.start_s;
  out.time_s = before_s + out.epochs * epoch.safe * time_scale;
  const auto usd = [&](double time_s) { return sim::usd_for(cluster_, costs, c, time_s); };
  const double expected_s = expected_epochs * epoch.smooth * money_scale, cautious_s = expected_epochs * epoch.safe * time_scale;
  out.cost_usd = usd(before_s + expected_s);
  const double caution = learner_.gives_bounds() && believed_ != nullptr ? kCautionOfBelief : kCaution;
  out.ranked_cost_usd = usd(before_s + (1 - caution) * expected_s + caution * cautious_s);
  // Between bounds what choices are ranked by is what is expected: so a looser limit, which leaves all choices and adds some,
  // never raises it.
  if (learner_.gives_bounds()) out.cost_usd = out.ranked_cost_usd;
  out.safe_cost_usd = std::max(out.cost_usd, usd(out.time_s));
  return out;
}

}  // namespace rehearse::policies
