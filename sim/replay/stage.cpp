#include "sim/replay/stage.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

namespace {

/// Trains epoch after epoch until the target is measured, the cap is reached, or the job diverges for the last time.
void train_course(const StageInputs& in, const Models& models, const StepTiming& timing, StageCourse& course) {
  const Job& job = *in.job;
  const double cap = epoch_cap(job, in.choice->predicted.epochs, *models.convergence);
  const double samples = models.convergence->samples_per_epoch(*job.profile);
  const EpochTimes times = epoch_times(job, in.choice->configuration, *models.convergence, timing);
  const double slower = course.step_s / timing.step_s;
  const bool stops_at_target = job.has_target() && job.stop == Stop::target;
  Progress now = *in.progress;
  while (now.epochs_trained < cap) {
    const double epoch_end = std::min(cap, std::floor(now.epochs_trained) + 1);
    const double part = epoch_end - now.epochs_trained;
    EpochPoint point{.begin_s = course.length_s, .before = now};
    const EpochOutcome outcome = models.convergence->train(job, in.choice->configuration, part * samples, now.training);
    course.length_s += part * times.training_s * slower;
    now.epochs += 1;
    if (outcome.diverged) {
      now.divergences += 1;
    } else {
      now.epochs_trained = epoch_end;
      course.length_s += times.evaluation_s * slower;
      now.accuracy = models.convergence->accuracy(job, now.training);
      now.measured_accuracy = models.convergence->measured_accuracy(job, now.epochs, now.accuracy);
    }
    point.end_s = course.length_s;
    point.after = now;
    point.noise_scale = outcome.noise_scale;
    point.lost = outcome.diverged;
    course.epochs.push_back(point);
    if (now.divergences >= kMostDivergences) {
      course.failure = FailureReason::cannot_converge;
      break;
    }
    if (stops_at_target && !outcome.diverged && now.measured_accuracy >= job.target_accuracy) break;
  }
  course.end = now;
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

StageCourse stage_course(const StageInputs& in, const Models& models) {
  const Job& job = *in.job;
  StageCourse course;
  course.end = *in.progress;
  if (job.work == Work::rigid) {
    course.length_s = job.duration_s * (1 - in.progress->work_done);
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
  course.busy_fraction = timing.busy_fraction;
  course.power_fraction = timing.power_fraction;
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
                             const Configuration& configuration, const Layout& layout) {
  std::vector<Plans> plans(configuration.groups.size());
  if (job.work == Work::rigid) return plans;
  const OpGraph& graph = step_times.graph(*job.profile);
  for (std::size_t g = 0; g < plans.size(); ++g) {
    const Device& worker = worker_device(cluster, configuration.groups[g].pool);
    const int on_node = layout[g].front().devices;
    plans[g].step = policy.place->place(graph, worker, on_node);
    if (worker.kind == DeviceKind::cpu) plans[g].threads = policy.threads->plan(graph, worker);
  }
  return plans;
}

}  // namespace rehearse::sim
