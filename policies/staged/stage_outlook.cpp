#include "policies/staged/stage_outlook.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr int kIntervals = 256;
constexpr double kGapStep = 0.5;
constexpr int kGaps = 17;
constexpr std::size_t kMostCuts = 4;
constexpr double kLeastUse = 1e-9;       // of a step at a rate that diverges: finite, and beyond any cap of epochs
constexpr double kWarmupLoss = 1.0 / 3;  // of the examples of a warm-up (docs/explain/strategies.md, "Stages")

constexpr double kStageSpeed = 0.03;  // of a stage to come (docs/explain/model.md, "World and belief")
constexpr double kLeastKept = 0.5;    // of the time; a wider spread than that is no plan's guide

/// Set learning rate over the reference rate once its warm-up is over; 0 for adascale, which follows the noise scale.
double relative_rate(const sim::Profile& profile, const workloads::ConvergenceParameters& c, const sim::Configuration& of) {
  if (of.learning_rate > 0) return of.learning_rate / c.reference_learning_rate;
  const double ratio = of.batch_size() / c.reference_batch;
  switch (profile.lr_rule) {
    case sim::LrRule::adascale:
      return 0;
    case sim::LrRule::linear_warmup:
      return ratio;
    case sim::LrRule::sqrt:
      return std::sqrt(ratio);
    case sim::LrRule::fixed:
      return 1;
  }
  return 0;
}

/// Examples that a reference step takes at this batch and noise scale (docs/explain/model.md, "Convergence").
double examples_per_progress(const workloads::ConvergenceParameters& c, const StageTable::TrainingClass& of, double noise) {
  const double gain = workloads::step_gain(noise, of.batch, c.reference_batch);
  if (of.relative_rate == 0) return of.batch / gain;
  const double response = workloads::rate_response(c.reference_rate_fraction * of.relative_rate / gain);
  const double use = std::min(1.0, response / workloads::rate_response(c.reference_rate_fraction));
  return of.batch / (gain * std::max(use, kLeastUse));
}

}  // namespace

StageTable::StageTable(const sim::Job& job, std::span<const sim::Configuration> candidates, sim::StageRunner& believed,
                       const workloads::ProfileModel& model)
    : model_(model), configurations_(candidates.begin(), candidates.end()) {
  const auto& convergence = model.convergence;
  if (convergence) {
    const double most = 3 * convergence->reference_epochs * convergence->training_samples / convergence->reference_batch;
    for (int i = 0; i <= kIntervals; ++i) grid_.push_back(most * i * i / (kIntervals * kIntervals));
  }
  for (const sim::Configuration& c : configurations_) {
    const sim::StageRates& rates = believed.rates(job, c);
    Candidate candidate{.pool = c.groups.front().pool, .workers = c.workers()};
    if (rates.fits) {
      candidate.epoch_s = rates.epoch.training_s + rates.epoch.evaluation_s;
      candidate.usd_per_s = rates.usd_per_s;
      const double rate = convergence ? relative_rate(*job.profile, *convergence, c) : 0;
      auto alike = std::find_if(classes_.begin(), classes_.end(),
                                [&](const TrainingClass& k) { return k.batch == c.batch_size() && k.relative_rate == rate; });
      if (alike == classes_.end()) {
        TrainingClass made{.batch = c.batch_size(), .relative_rate = rate};
        for (const double progress : grid_)
          made.noise_scale.push_back(workloads::noise_scale(*convergence, {}, progress, made.batch));
        alike = classes_.insert(classes_.end(), std::move(made));
      }
      candidate.training_class = static_cast<int>(alike - classes_.begin());
    }
    candidates_.push_back(candidate);
  }
}

const StageTable::Needed& StageTable::needed(double accuracy, double ceiling_offset) const {
  Needed& needed = needed_[{accuracy, ceiling_offset}];
  if (needed.empty()) {
    const workloads::ConvergenceParameters& c = *model_.convergence;
    for (int i = 0; i < kGaps; ++i) {
      sim::TrainingState state{.examples = 1, .log2_batch_examples = std::log2(c.gap_batch) + i * kGapStep};
      double low = 0, high = grid_.back();
      state.progress = high;
      const auto reached = [&] { return workloads::accuracy(c, {.ceiling_offset = ceiling_offset}, state) >= accuracy; };
      if (!reached()) {
        needed.push_back(sim::kNever);
        continue;
      }
      for (int step = 0; step < 24; ++step) {
        state.progress = (low + high) / 2;
        (reached() ? high : low) = state.progress;
      }
      needed.push_back(high);
    }
  }
  return needed;
}

double StageTable::at_gap(const Needed& needed, double gap) {
  const double at = std::clamp(gap / kGapStep, 0.0, kGaps - 1.0);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= needed.size() || at == static_cast<double>(below)) return needed[below];
  return needed[below] + (at - static_cast<double>(below)) * (needed[below + 1] - needed[below]);
}

double StageReserve::spread() const {
  const double noise = by_noise_scale * noise_scale;
  return error_factor * std::sqrt(speed * speed + examples * examples + noise * noise + readings * readings);
}

namespace {

/// Examples against progress for one class, corrected by what was measured.
struct Curve {
  std::vector<double> examples;  ///< from progress 0, by point of the grid
};

/// A training in its course.
struct Point {
  double progress = 0, examples = 0, log2_batch_examples = 0, epochs = 0;
};

/// A class taken for the next stage.
struct Followed {
  double to_end = 0;    ///< epochs, if kept
  double stage = 0;     ///< epochs of the stage
  bool ends = false;    ///< the job, within the stage
  double progress = 0;  ///< at the stage's end
  struct Cut {
    double epochs = 0;         ///< until then
    std::vector<double> rest;  ///< epochs from then on, by class
  };
  std::vector<Cut> cuts;  ///< the ends of stages at which another class may be taken
};

class Looker {
 public:
  explicit Looker(const OutlookRequest& request)
      : in_(request),
        table_(*request.table),
        job_(*request.job),
        from_(*request.from),
        to_target_(job_.has_target() && job_.stop == sim::Stop::target && table_.model().convergence.has_value()),
        samples_(table_.model().training_samples),
        restart_s_(request.costs->start_s + request.checkpoint_bytes / request.costs->restore_bytes_per_s) {}

  Outlook look() {
    Outlook out;
    for (const StageTable::TrainingClass& k : classes()) log2_batch_.push_back(std::log2(k.batch));
    if (to_target_) {
      log2_gap_ = std::log2(table_.model().convergence->gap_batch);
      needed_ = &table_.needed(job_.target_accuracy, in_.revision->ceiling_offset);
    }
    if (job_.has_deadline()) out.time_left_s = job_.deadline_s - from_.time_s;
    integrate();
    read_speeds();
    pick_efficient();
    follow_classes();
    reserve_time();
    for (const int c : offered()) add_option(c, out);
    describe(out);
    return out;
  }

 private:
  const std::vector<StageTable::TrainingClass>& classes() const { return table_.classes(); }
  const StageTable::Candidate& candidate(int c) const { return table_.candidates()[static_cast<std::size_t>(c)]; }

  /// Trapezoids over the grid.
  void integrate() {
    if (!table_.model().convergence) return;
    const workloads::ConvergenceParameters& c = *table_.model().convergence;
    const std::vector<double>& grid = table_.grid();
    for (const StageTable::TrainingClass& k : classes()) {
      Curve curve;
      curve.examples.reserve(grid.size());
      double sum = 0, before = 0;
      for (std::size_t i = 0; i < grid.size(); ++i) {
        const double slope =
            in_.revision->examples_factor * examples_per_progress(c, k, k.noise_scale[i] * in_.revision->noise_scale_factor);
        if (i > 0) sum += (grid[i] - grid[i - 1]) * (before + slope) / 2;
        before = slope;
        curve.examples.push_back(sum);
      }
      curves_.push_back(std::move(curve));
    }
  }

  double examples_at(int k, double progress) const {
    const std::vector<double>&grid = table_.grid(), &examples = curves_[static_cast<std::size_t>(k)].examples;
    // The grid is quadratic: its inverse is a root.
    const double at = std::sqrt(std::max(0.0, progress) / grid.back()) * kIntervals;
    const auto i = std::min(static_cast<std::size_t>(at), static_cast<std::size_t>(kIntervals - 1));
    return examples[i] + (progress - grid[i]) / (grid[i + 1] - grid[i]) * (examples[i + 1] - examples[i]);
  }

  double progress_at(int k, double examples) const {
    const std::vector<double>&grid = table_.grid(), &of = curves_[static_cast<std::size_t>(k)].examples;
    const auto next = std::upper_bound(of.begin() + 1, of.end() - 1, examples);
    const auto i = static_cast<std::size_t>(next - of.begin()) - 1;
    return grid[i] + (examples - of[i]) / (of[i + 1] - of[i]) * (grid[i + 1] - grid[i]);
  }

  /// Whole epochs to the job's end with this class; infinite when that is never.
  double epochs_to_end(int k, const Point& at, double lost_examples) const {
    if (!to_target_) return std::max(0.0, in_.epoch_cap - at.epochs);
    const double log2_batch = log2_batch_[static_cast<std::size_t>(k)];
    const double seen = examples_at(k, at.progress);
    double left = at.examples > 0 ? 0 : 1, needed = 0;  // the mean batch hangs on what is left: a fixed point
    for (int round = 0; round < 3; ++round) {
      const double mean = (at.log2_batch_examples + left * log2_batch) / (at.examples + left);
      needed = StageTable::at_gap(*needed_, std::max(0.0, mean - log2_gap_));
      if (needed == sim::kNever) return sim::kNever;
      left = std::max(1.0, examples_at(k, needed) - seen);
    }
    const double epochs = std::max(1.0, std::ceil((left + lost_examples) / samples_ - 1e-9));
    return at.epochs + epochs <= in_.epoch_cap ? epochs : sim::kNever;
  }

  double warmup_loss(double batch_before, double batch) const {
    return batch_before > 0 && batch_before != batch ? kWarmupLoss * in_.costs->warmup_epochs * samples_ : 0;
  }

  void read_speeds() {
    for (const StageTable::Candidate& c : table_.candidates()) {
      const auto pool = static_cast<std::size_t>(c.pool);
      const std::vector<double>& slower = in_.revision->slower_on_pool;
      epoch_s_.push_back(c.epoch_s * (pool < slower.size() ? slower[pool] : 1.0));
    }
  }

  /// Those that no other of their class beats in both time and money; the one held.
  void pick_efficient() {
    std::vector<std::vector<int>> members(classes().size());
    for (std::size_t c = 0; c < table_.candidates().size(); ++c) {
      if (from_.held != nullptr && table_.configurations()[c] == *from_.held) held_ = static_cast<int>(c);
      const int k = table_.candidates()[c].training_class;
      if (k >= 0) members[static_cast<std::size_t>(k)].push_back(static_cast<int>(c));
    }
    if (held_ >= 0 && candidate(held_).training_class < 0) held_ = -1;
    for (std::vector<int>& of : members) {
      std::sort(of.begin(), of.end(), [&](int a, int b) {
        const double s = epoch_s(a), t = epoch_s(b);
        return s != t ? s < t : usd_per_epoch(a) < usd_per_epoch(b);
      });
      double least = sim::kNever;
      for (const int c : of)
        if (usd_per_epoch(c) < least) {
          least = usd_per_epoch(c);
          efficient_.push_back(c);
        }
    }
  }

  /// The share of its time that each candidate's training is planned with.
  void reserve_time() {
    kept_.assign(table_.candidates().size(), 1 - in_.reserve);
    if (!(in_.deviations > 0)) return;
    const Prior& known = *in_.known;
    StageReserve reserve{.examples = to_target_ ? known.examples_spread : 0,
                         .noise_scale = known.noise_scale_spread,
                         .readings = to_target_ ? log_progress_of_readings() : 0,
                         .error_factor = known.error_factor};
    const double reference = to_target_ ? table_.model().convergence->reference_batch : 1, noise = to_target_ ? noise_scale() : 0;
    for (const int c : offered()) {
      const double batch = classes()[static_cast<std::size_t>(candidate(c).training_class)].batch;
      reserve.speed = std::hypot(known.speed_spread(static_cast<std::size_t>(candidate(c).pool)), kStageSpeed);
      reserve.by_noise_scale = noise / (noise + batch) - noise / (noise + reference);
      kept_[static_cast<std::size_t>(c)] = std::max(kLeastKept, std::exp(-in_.deviations * reserve.spread()));
    }
  }

  /// How much of the progress that is needed lies within a deviation of what evaluations read, the ceiling's with it.
  double log_progress_of_readings() const {
    const double away = std::hypot(in_.evaluation_deviation, in_.known->ceiling_spread);
    const double needed = StageTable::at_gap(*needed_, 0);
    const double nearly = StageTable::at_gap(table_.needed(job_.target_accuracy - away, in_.revision->ceiling_offset), 0);
    return needed < sim::kNever && nearly > 0 ? std::log(needed / nearly) : 0;
  }

  double noise_scale() const {
    return workloads::noise_scale(*table_.model().convergence, {.noise_scale_factor = in_.revision->noise_scale_factor},
                                  from_.progress.training.progress, table_.model().convergence->reference_batch);
  }

  std::vector<int> offered() const {
    std::vector<int> all = efficient_;
    const auto add = [&](int c) {
      if (std::find(all.begin(), all.end(), c) == all.end()) all.push_back(c);
    };
    if (held_ >= 0) add(held_);
    if (!in_.offers_held_devices || from_.held == nullptr || from_.held->groups.size() != 1) return all;
    const sim::Group& held = from_.held->groups.front();
    for (std::size_t c = 0; c < table_.candidates().size(); ++c) {
      const StageTable::Candidate& of = table_.candidates()[c];
      if (of.training_class >= 0 && of.pool == held.pool && of.workers == held.workers) add(static_cast<int>(c));
    }
    return all;
  }

  double epoch_s(int c) const { return epoch_s_[static_cast<std::size_t>(c)]; }
  double usd_per_epoch(int c) const { return epoch_s(c) * candidate(c).usd_per_s; }

  /// Of a minimum time, after the nodes were held so long.
  double rest_usd(int c, double held_s) const {
    return candidate(c).usd_per_s * std::max(0.0, in_.costs->minimum_node_s - held_s);
  }

  /// For each class: the next stage, and from its end the epochs to the job's end with each class.
  void follow_classes() {
    const double held_batch = from_.held != nullptr ? from_.held->batch_size() : 0;
    const Point now{.progress = from_.progress.training.progress,
                    .examples = from_.progress.training.examples,
                    .log2_batch_examples = from_.progress.training.log2_batch_examples,
                    .epochs = from_.progress.epochs_trained};
    const double until = in_.ends.empty() ? sim::kNever : in_.ends.front() - now.epochs;
    const int n = static_cast<int>(classes().size());
    for (int k = 0; k < n; ++k) {
      const double batch = classes()[static_cast<std::size_t>(k)].batch;
      const double lost = warmup_loss(held_batch, batch);
      Followed f{.to_end = epochs_to_end(k, now, lost)};
      f.ends = f.to_end <= until;
      f.stage = std::min(f.to_end, until);
      if (!f.ends) {
        const double examples = f.stage * samples_;
        Point end{.examples = now.examples + examples,
                  .log2_batch_examples = now.log2_batch_examples + examples * std::log2(batch),
                  .epochs = now.epochs + f.stage};
        if (to_target_) {
          end.progress = progress_at(k, examples_at(k, now.progress) + std::max(0.0, examples - lost));
          f.progress = end.progress;
        }
        follow_on(k, end, f);
      }
      followed_.push_back(std::move(f));
    }
  }

  /// From the stage's end: another class there, or at a later end.
  void follow_on(int k, Point end, Followed& f) const {
    const double batch = classes()[static_cast<std::size_t>(k)].batch;
    for (std::size_t cut = 0;;) {
      Followed::Cut& at = f.cuts.emplace_back();
      at.epochs = end.epochs - from_.progress.epochs_trained;
      for (std::size_t next = 0; next < classes().size(); ++next)
        at.rest.push_back(epochs_to_end(static_cast<int>(next), end, warmup_loss(batch, classes()[next].batch)));
      if (++cut >= std::min(in_.ends.size(), kMostCuts) ||
          at.epochs + at.rest[static_cast<std::size_t>(k)] <= in_.ends[cut] - from_.progress.epochs_trained)
        return;
      const double examples = (in_.ends[cut] - end.epochs) * samples_;
      end.epochs = in_.ends[cut];
      end.examples += examples;
      end.log2_batch_examples += examples * std::log2(batch);
      if (to_target_) end.progress = progress_at(k, examples_at(k, end.progress) + examples);
    }
  }

  void add_option(int c, Outlook& out) const {
    const StageTable::Candidate& of = candidate(c);
    const Followed& f = followed_[static_cast<std::size_t>(of.training_class)];
    StageOption option{.candidate = c, .keeps = c == held_, .epochs = f.stage};
    double switch_s = 0, start_s = sim::kNever;  // what is held already has no minimum before it
    if (!option.keeps) {
      const double held_usd_per_s = held_ >= 0 ? candidate(held_).usd_per_s : 0;
      const double checkpoint_s = from_.held != nullptr ? in_.costs->checkpoint_s : 0;
      start_s = from_.held != nullptr ? restart_s_ : in_.costs->start_s;
      switch_s = checkpoint_s + start_s;
      option.switch_usd = checkpoint_s * held_usd_per_s + start_s * of.usd_per_s;
    }
    option.stage_s = switch_s + f.stage * epoch_s(c);
    option.stage_usd = option.switch_usd + f.stage * usd_per_epoch(c);
    option.kept_s = switch_s + f.to_end * epoch_s(c);
    option.kept_usd = option.switch_usd + f.to_end * usd_per_epoch(c) + rest_usd(c, start_s + f.to_end * epoch_s(c));
    option.fastest_s = option.plan_s = option.plan_usd = option.safe_usd = option.safest_s = sim::kNever;
    const auto consider = [&](double switching_s, double seconds, double usd, double kept) {
      option.fastest_s = std::min(option.fastest_s, seconds);
      const double safe_s = switching_s + (seconds - switching_s) / kept;
      option.safest_s = std::min(option.safest_s, safe_s);
      if (seconds <= out.time_left_s && usd < option.plan_usd) option.plan_usd = usd, option.plan_s = seconds;
      if (safe_s <= out.time_left_s) option.safe_usd = std::min(option.safe_usd, usd);
    };
    const double kept = kept_[static_cast<std::size_t>(c)];
    consider(switch_s, option.kept_s, option.kept_usd, kept);
    for (const Followed::Cut& cut : f.cuts) {
      const double until_s = switch_s + cut.epochs * epoch_s(c) + in_.costs->checkpoint_s + restart_s_;
      const double until_usd = option.switch_usd + cut.epochs * usd_per_epoch(c) + in_.costs->checkpoint_s * of.usd_per_s +
                               rest_usd(c, start_s + cut.epochs * epoch_s(c) + in_.costs->checkpoint_s);
      for (const int next : efficient_) {
        if (next == c) continue;
        const double epochs = cut.rest[static_cast<std::size_t>(candidate(next).training_class)];
        consider(switch_s + in_.costs->checkpoint_s + restart_s_, until_s + epochs * epoch_s(next),
                 until_usd + restart_s_ * candidate(next).usd_per_s + epochs * usd_per_epoch(next) +
                     rest_usd(next, restart_s_ + epochs * epoch_s(next)),
                 std::min(kept, kept_[static_cast<std::size_t>(next)]));
      }
    }
    if (!f.ends && to_target_) option.gain = f.progress;
    out.options.push_back(option);
  }

  void describe(Outlook& out) const {
    if (!table_.model().convergence || classes().empty()) return;
    const double progress = from_.progress.training.progress;
    out.noise_scale = noise_scale();
    if (!to_target_) return;
    const double needed = StageTable::at_gap(*needed_, 0);
    if (needed == sim::kNever) return;
    out.progress_share = progress / needed;
    for (StageOption& option : out.options)
      option.gain = option.gain > 0 ? std::min(1.0, (option.gain - progress) / std::max(1.0, needed - progress)) : 1.0;
  }

  const OutlookRequest& in_;
  const StageTable& table_;
  const sim::Job& job_;
  const sim::Standing& from_;
  const bool to_target_;
  const double samples_;
  const double restart_s_;
  const StageTable::Needed* needed_ = nullptr;
  double log2_gap_ = 0;
  std::vector<double> log2_batch_;  ///< by class
  std::vector<Curve> curves_;
  std::vector<double> epoch_s_;
  std::vector<int> efficient_;
  std::vector<double> kept_;  ///< of the time of each candidate's training
  std::vector<Followed> followed_;
  int held_ = -1;
};

}  // namespace

Outlook look_ahead(const OutlookRequest& request) { return Looker(request).look(); }

}  // namespace rehearse::policies
