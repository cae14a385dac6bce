#include "sim/replay/stage.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::sim {

namespace {

void train_course(const StageInputs& in, const Models& models, const StepTiming& timing, StageCourse& course) {
  const Job& job = *in.job;
  const double cap = epoch_cap(job, in.choice->predicted.epochs, *models.convergence);
  const EpochTimes times = epoch_times(job, in.choice->configuration, *models.convergence, timing);
  const double slower = course.step_s / timing.step_s;
  Progress before = *in.progress;
  course.end = before;
  // A queue may resize the job to a choice whose stage lies behind it: that one ends with the epoch under way.
  const double until = std::max(in.choice->until_epochs, std::floor(before.epochs_trained) + 1);
  const TrainingEnd end = train_epochs(job, in.choice->configuration, std::min(cap, until), *models.convergence, course.end,
                                       [&](const EpochStep& step, const Progress& now) {
                                         EpochPoint point{.begin_s = course.length_s, .before = before, .after = now};
                                         course.length_s += step.part * times.training_s * slower;
                                         if (!step.outcome.diverged) course.length_s += times.evaluation_s * slower;
                                         point.end_s = course.length_s;
                                         point.noise_scale = step.outcome.noise_scale;
                                         point.lost = step.outcome.diverged;
                                         course.epochs.push_back(point);
                                         before = now;
                                       });
  if (end == TrainingEnd::failed) course.failure = FailureReason::cannot_converge;
  course.asks_again = end == TrainingEnd::epochs && course.end.epochs_trained < cap;
}

}  // namespace

double epoch_cap(const Job& job, double predicted_epochs, const Convergence& convergence) {
  double cap = job.epochs > 0 ? job.epochs : convergence.default_epoch_cap(*job.profile);
  if (job.has_target() && job.stop == Stop::budget) cap = std::ceil(predicted_epochs);
  if (!(cap > 0) || cap > kMostEpochs) throw PolicyError("the number of epochs to train must lie in (0, 1e6]");
  return cap;
}

EpochTimes epoch_times(const Job& job, const Configuration& configuration, const Convergence& convergence,
                       const StepTiming& timing) {
  double batch_of_all = 0;
  for (const Group& group : configuration.groups) batch_of_all += static_cast<double>(group.workers) * group.batch_per_worker;
  const double steps = std::ceil(convergence.samples_per_epoch(*job.profile) / configuration.batch_size());
  const double evaluations = std::ceil(convergence.evaluation_samples(*job.profile) / batch_of_all);
  return {.training_s = steps * timing.step_s, .evaluation_s = evaluations * timing.forward_s};
}

double preload_seconds(const Job& job, const CostRules& rules, const Models& models) {
  if (job.work == Work::rigid || std::isinf(rules.preload_bytes_per_s)) return 0;
  const double bytes_a_sample = models.step_times->graph(*job.profile).input_bytes.at(1);
  return models.convergence->samples_per_epoch(*job.profile) * bytes_a_sample / rules.preload_bytes_per_s;
}

double start_seconds(const Job& job, const CostRules& rules, const Models& models, bool ran_before) {
  if (!switches(job, rules)) return 0;
  // Its measured duration has its first start. Of its bytes nothing is known: reading a checkpoint takes as long as writing it.
  if (job.work == Work::rigid) return ran_before ? rules.start_s + rules.checkpoint_s : 0;
  return preload_seconds(job, rules, models) + rules.start_s +
         (ran_before ? models.step_times->checkpoint_bytes(*job.profile) / rules.restore_bytes_per_s : 0);
}

void take_up_batch(const Job& job, double batch_before, double batch, const CostRules& rules, const Models& models,
                   TrainingState& state) {
  if (job.work == Work::train && batch_before > 0 && batch_before != batch)
    state.warmup_examples = rules.warmup_epochs * models.convergence->samples_per_epoch(*job.profile);
}

bool halve_batch(const Job& job, Configuration& configuration) {
  const auto is_one = [](const Group& group) { return group.batch_per_worker < 2; };
  if (job.work != Work::train || std::ranges::any_of(configuration.groups, is_one)) return false;
  for (Group& group : configuration.groups) group.batch_per_worker /= 2;
  return true;
}

StageCourse stage_course(const StageInputs& in, const Models& models) {
  const Job& job = *in.job;
  StageCourse course;
  course.end = *in.progress;
  if (job.work == Work::rigid) {
    course.length_s = job.duration_on_s(in.choice->configuration.groups.front().pool) * (1 - in.progress->work_done);
    course.full_work = 1;
    course.end.work_done = 1;
    return course;
  }
  const Configuration& configuration = in.choice->configuration;
  const StepTiming timing = models.step_times->timing(job, configuration, *in.layout, in.plans);
  course.fits_memory = timing.fits;
  if (!timing.fits) return course;
  check(timing.step_s > 0, "a step takes no time");
  course.step_s = timing.step_s * models.step_times->noise(job, configuration, *in.layout, in.stage);
  course.profiling_s = timing.profiling_s;
  course.busy_fraction = timing.busy_fraction;
  course.power_fraction = timing.power_fraction;
  course.waiting_power_fraction = timing.waiting_power_fraction;
  course.input_bytes_per_s = timing.input_bytes / timing.step_s;
  course.network_bytes_per_s = timing.network_bytes / timing.step_s;
  if (job.work == Work::steps) {
    course.length_s = (job.steps - in.progress->work_done) * course.step_s;
    course.full_work = job.steps;
    course.end.work_done = job.steps;
    return course;
  }
  train_course(in, models, timing, course);
  return course;
}

Progress progress_at(const StageInputs& in, const StageCourse& course, const Models& models, double elapsed_s) {
  if (elapsed_s >= course.length_s) return course.end;
  Progress now = *in.progress;
  if (elapsed_s <= 0) return now;
  if (in.job->work != Work::train) {
    now.work_done += (course.full_work - now.work_done) * (elapsed_s / course.length_s);
    return now;
  }
  const auto point = std::upper_bound(course.epochs.begin(), course.epochs.end(), elapsed_s,
                                      [](double t, const EpochPoint& p) { return t < p.end_s; });
  check(point != course.epochs.end(), "a stage's course ends before its length");
  now = point->before;
  if (point->lost) return now;
  const double part = (elapsed_s - point->begin_s) / (point->end_s - point->begin_s);
  const double epochs = (point->after.epochs_trained - point->before.epochs_trained) * part;
  const double examples = (point->after.training.examples - point->before.training.examples) * part;
  models.convergence->train(*in.job, in.choice->configuration, examples, now.training);
  now.epochs_trained += epochs;
  now.accuracy = models.convergence->accuracy(*in.job, now.training);
  return now;
}

double lost_seconds(const StageCourse& course, double elapsed_s) {
  double lost = 0;
  for (const EpochPoint& point : course.epochs)
    if (point.lost) lost += std::max(0.0, std::min(elapsed_s, point.end_s) - point.begin_s);
  return lost;
}

std::vector<Plans> ask_plans(const Policy& policy, const StepTimes& step_times, const Cluster& cluster, const Job& job,
                             const Configuration& configuration, const Layout& layout, const PlacePurpose& purpose) {
  std::vector<Plans> plans(configuration.groups.size());
  if (job.work == Work::rigid) return plans;
  const OpGraph& graph = step_times.graph(*job.profile);
  for (std::size_t g = 0; g < plans.size(); ++g) {
    if (graph.ops.empty()) {  // of a step that was measured nothing is known that could be placed
      plans[g].step.replicas = layout[g].front().devices;
      continue;
    }
    const Device& worker = worker_device(cluster, configuration.groups[g].pool);
    plans[g].step = policy.place->place({.graph = &graph,
                                         .job = &job,
                                         .configuration = &configuration,
                                         .nodes = &layout[g],
                                         .worker = &worker,
                                         .group = static_cast<int>(g),
                                         .workers_on_node = layout[g].front().devices,
                                         .purpose = purpose});
    if (worker.kind == DeviceKind::cpu)
      plans[g].threads = policy.threads->plan(graph, worker, configuration.groups[g].batch_per_worker);
  }
  return plans;
}

double writing_before(const CheckpointTimes& times, double course_s) {
  return times.interval_s < course_s ? (std::ceil(course_s / times.interval_s) - 1) * times.write_s : 0;
}

StageClock::StageClock(double begin_s, double length_s, const CheckpointTimes& checkpoints, double speed)
    : since_s_(begin_s), length_s_(length_s), times_(checkpoints), speed_(speed) {
  check(times_.interval_s > 0 && speed > 0, "a stage without speed, or checkpoints without an interval", begin_s);
  if (times_.interval_s < length_s_)
    all_ = sim::whole<std::uint64_t>(std::ceil(length_s_ / times_.interval_s), "checkpoints of a stage") - 1;
}

StageReading StageClock::at(double now_s) const {
  StageReading r = base_;
  double left_s = now_s - since_s_;
  const auto train = [&](double course_s) {
    r.trained_s += (course_s - r.done_s) / speed_;
    r.done_s = course_s;
  };
  if (r.checkpoints < all_) {
    // To the end of the checkpoint under way or the next one, then over whole intervals with theirs.
    const double next_s = static_cast<double>(r.checkpoints + 1) * times_.interval_s;
    const double first_s = (next_s - r.done_s) / speed_ + times_.write_s - written_s_;
    if (left_s >= first_s) {
      left_s -= first_s;
      const double period_s = times_.interval_s / speed_ + times_.write_s;
      const auto more = sim::whole<std::uint64_t>(
          std::min(std::floor(left_s / period_s), static_cast<double>(all_ - r.checkpoints - 1)), "checkpoints of a stage");
      left_s -= static_cast<double>(more) * period_s;
      r.writing_s += times_.write_s * static_cast<double>(more + 1) - written_s_;
      r.checkpoints += more + 1;
      train(static_cast<double>(r.checkpoints) * times_.interval_s);
      r.saved_s = r.done_s;
      r.saved_trained_s = r.trained_s;
    }
  }
  const double stop_s = r.checkpoints < all_ ? static_cast<double>(r.checkpoints + 1) * times_.interval_s : length_s_;
  const double to_stop_s = (stop_s - r.done_s) / speed_;
  if (left_s < to_stop_s) {
    r.trained_s += left_s;
    r.done_s += left_s * speed_;
  } else {
    train(stop_s);
    if (r.checkpoints < all_) r.writing_s += left_s - to_stop_s;
  }
  return r;
}

void StageClock::set_speed(double now_s, double speed) {
  check(speed > 0, "a stage without speed", now_s);
  const StageReading now = at(now_s);
  // Of the checkpoint under way: all writing but that of whole ones.
  written_s_ = std::max(0.0, now.writing_s - static_cast<double>(now.checkpoints) * times_.write_s);
  base_ = now;
  since_s_ = now_s;
  speed_ = speed;
}

double StageClock::left_s() const {
  return (length_s_ - base_.done_s) / speed_ + static_cast<double>(all_ - base_.checkpoints) * times_.write_s - written_s_;
}

double StageClock::end_s() const { return since_s_ + left_s(); }

StageReading StageClock::whole() const {
  StageReading r = base_;
  r.trained_s += (length_s_ - r.done_s) / speed_;
  r.done_s = length_s_;
  r.writing_s += static_cast<double>(all_ - r.checkpoints) * times_.write_s - written_s_;
  if (all_ > r.checkpoints) {
    r.saved_s = static_cast<double>(all_) * times_.interval_s;
    r.saved_trained_s = r.trained_s - (r.done_s - r.saved_s) / speed_;
  }
  r.checkpoints = all_;
  return r;
}

double StageClock::mean_speed() const {
  const double seconds = left_s();
  return seconds > 0 ? (length_s_ - base_.done_s) / seconds : speed_;
}

}  // namespace rehearse::sim
