#include "workloads/world/training_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/money/costs.hpp"
#include "workloads/steps/cpu_threads.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/steps/step_model.hpp"

namespace rehearse::workloads {

namespace {

/// What a step is worth while the rate rises from 0 to its value: the mean of 2x - x^2 over x from 0 to 1.
constexpr double kWarmupUse = 2.0 / 3.0;
/// Standard deviation of the logarithm of one reading of the noise scale (docs/explain/strategies.md, "Stages").
constexpr double kNoiseScaleReading = 0.3;

sim::Random draw_of(const WorldDraw& draw, std::string_view purpose, std::string_view entity) {
  return sim::Random(sim::stream_key(draw.seed, static_cast<std::uint64_t>(draw.repetition), purpose, entity));
}

/// What a step with this schedule takes of one with the recommended setting. The closed form, which calibration and validation
/// stand on, is scaled by it instead of replaced.
double share_of_recommended(const sim::OpGraph& graph, const sim::Device& cpu, double batch, const sim::CpuPlan& schedule) {
  const CpuStepModel model = cpu_step_model(graph, cpu, batch);
  return sim::time_cpu_step(model.graph, *model.costs, model.machine, schedule).makespan_s() / recommended_step_s(model);
}

/// At the same power while it computes.
void scale_by(ComputeTime& compute, double share) {
  for (double* part : {&compute.forward_s, &compute.backward_s, &compute.update_s, &compute.dynamic_energy_j}) *part *= share;
}

/// One device's part of a replica on `gpus` of them: phases in proportion to their work, a share of the energy.
void spread(ComputeTime& compute, double makespan_s, int gpus) {
  const double energy_j = compute.dynamic_energy_j / gpus;
  scale_by(compute, makespan_s / compute.total_s());
  compute.dynamic_energy_j = energy_j;
}

StepSetting setting_of(const sim::Job& job, const sim::Configuration& configuration) {
  return {.global_batch = configuration.batch_size(),
          .rule = job.profile->lr_rule,
          .learning_rate = configuration.learning_rate,
          .asynchronous_workers =
              configuration.sync.kind == sim::SyncKind::servers_async ? static_cast<double>(configuration.workers()) : 1.0};
}

/// As it was measured: the network's part is in it, and what a device draws is taken to be as in any step.
sim::StepTiming measured_timing(const MeasuredSteps& measured, const sim::Configuration& c) {
  sim::StepTiming timing{.fits = false};
  if (c.groups.size() != 1 || c.sync != sim::Sync{}) return timing;
  const sim::Group& group = c.groups.front();
  const double* const step_s =
      measured.step_s({.pool = group.pool, .workers = group.workers, .batch = group.workers * group.batch_per_worker});
  if (step_s == nullptr) return timing;
  timing.fits = true;
  timing.step_s = *step_s;
  return timing;
}

}  // namespace

TrainingModels::TrainingModels(const sim::Cluster& cluster, const ProfileModels& profiles, const TrainingModels* belief,
                               std::optional<WorldDraw> draw)
    : cluster_(cluster), profiles_(profiles), belief_(belief), draw_(draw) {
  sync_factor_.assign(cluster.pools.size(), 1.0);
  compute_factor_.assign(profiles.size(), std::vector<double>(cluster.devices.size(), 1.0));
  batch_slope_.assign(profiles.size(), std::vector<double>(cluster.devices.size(), 0.0));
  workers_slope_.assign(profiles.size(), std::vector<double>(cluster.pools.size(), 0.0));
  memory_factor_.assign(profiles.size(), 1.0);
  convergence_errors_.resize(profiles.size());
  if (!draw_) return;
  const WorldErrors& e = draw_->errors;
  node_factor_.resize(cluster.pools.size());
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    const sim::Pool& pool = cluster.pools[p];
    sync_factor_[p] = draw_of(*draw_, "synchronisation", pool.name).log_normal_factor(e.sync_error);
    if (e.step_noise > 0) node_factor_[p].resize(static_cast<std::size_t>(pool.nodes));
  }
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const sim::OpGraph& graph = profiles.of({.index = static_cast<int>(i)}).graph;
    const auto& convergence = profiles.of({.index = static_cast<int>(i)}).convergence;
    for (std::size_t d = 0; d < cluster.devices.size(); ++d)
      compute_factor_[i][d] =
          draw_of(*draw_, "compute time", graph.name + "/" + cluster.devices[d].name).log_normal_factor(e.model_error);
    for (std::size_t d = 0; d < cluster.devices.size() && e.batch_error > 0; ++d)
      batch_slope_[i][d] = e.batch_error * draw_of(*draw_, "batch curve", graph.name + "/" + cluster.devices[d].name).normal();
    for (std::size_t p = 0; p < cluster.pools.size() && e.workers_error > 0; ++p)
      workers_slope_[i][p] =
          e.workers_error *
          draw_of(*draw_, "worker curve", graph.name + "/" + instance_of(cluster, static_cast<int>(p)).name).normal();
    memory_factor_[i] = draw_of(*draw_, "memory", graph.name).log_normal_factor(e.memory_error);
    if (e.is_of_other_form) convergence_errors_[i].gain_law = GainLaw::root_of_squares;
    if (!convergence) continue;
    const std::string pair = convergence->model + "/" + convergence->dataset;
    convergence_errors_[i].noise_scale_factor = draw_of(*draw_, "noise scale", pair).log_normal_factor(e.noise_scale_error);
    convergence_errors_[i].ceiling_offset = e.ceiling_error * draw_of(*draw_, "ceiling", pair).normal();
  }
}

// ---- step time

std::size_t TrainingModels::GroupKeyHash::operator()(const GroupKey& k) const {
  std::uint64_t hash = 0;
  for (const int value :
       {k.profile, k.pool, k.workers, k.batch, k.nodes, k.workers_on_node, k.servers, k.threads, static_cast<int>(k.sync)})
    hash = sim::Random::mix(hash + static_cast<std::uint64_t>(value));
  return sim::Random::mix(hash ^ std::bit_cast<std::uint64_t>(k.power_limit_w) ^ std::bit_cast<std::uintptr_t>(k.placement));
}

ReplicaTime TrainingModels::replica_time(const GroupKey& key, const Conditions& conditions) const {
  TimedReplica timed{.profile = key.profile,
                     .pool = key.pool,
                     .gpus = key.workers_on_node,
                     .batch = conditions.batch,
                     .time_factor = conditions.time_factor,
                     .power_limit_w = conditions.power_limit_w,
                     .device_of_op = *key.placement};
  const ReplicaSetting setting = setting_of(timed, profiles_.of({.index = key.profile}), cluster_, conditions.precision);
  const ReplicaTime time = time_replica(setting, timed.device_of_op, sim::make_fast_timer);
  timed.makespan = time.makespan;
  timed_replicas_.push_back(std::move(timed));
  return time;
}

/// A power of the batch through the publication's, with the believed time and slope there: T(b) = T(b0) (b/b0)^s, s the mean
/// slope of log T from half to twice b0.
double TrainingModels::other_batch_curve(const ProfileModel& model, const sim::Device& device,
                                         const Conditions& conditions) const {
  const double b0 = model.publication_batch;
  if (!is_of_other_form() || !(b0 > 0)) return 1;
  const auto believed_s = [&](double batch) {
    Conditions at = conditions;
    at.batch = batch;
    return model.step.compute_time(device, corrected(at, device, model.model, model.dataset)).total_s();
  };
  const double slope = std::log2(believed_s(2 * b0) / believed_s(b0 / 2)) / 2;
  return believed_s(b0) * std::pow(conditions.batch / b0, slope) / believed_s(conditions.batch);
}

sim::StepTiming TrainingModels::group_timing(const GroupKey& key, sim::Precision precision) const {
  const ProfileModel& model = profiles_.of({.index = key.profile});
  const sim::Instance& instance = instance_of(cluster_, key.pool);
  const sim::Device& device = sim::worker_device(cluster_, key.pool);
  const auto device_index = static_cast<std::size_t>(&device - cluster_.devices.data());
  // A rank of the exchange: a worker, or the GPUs of a node together.
  const bool one_replica = key.placement != nullptr;
  const int ranks_on_node = one_replica ? 1 : key.workers_on_node;
  const double batch = one_replica ? static_cast<double>(key.batch) * key.workers_on_node : key.batch;
  sim::StepTiming timing;
  const auto profile = static_cast<std::size_t>(key.profile);
  // A replica over the GPUs of a node takes its samples at once.
  const int passes = one_replica ? 1 : std::max(1, model.passes(batch, device, precision, memory_factor_[profile]));
  const double samples = passes > 1 ? std::ceil(batch / passes) : batch;  // of one pass
  timing.memory_bytes = model.memory.bytes(samples, precision) * memory_factor_[profile];
  timing.fits = timing.memory_bytes <= kUsableMemory * device.memory_bytes;
  const double doublings = model.publication_batch > 0 ? std::log2(samples / model.publication_batch) : 0;
  Conditions conditions{
      .batch = samples,
      .precision = precision,
      .time_factor = compute_factor_[profile][device_index] * std::exp(batch_slope_[profile][device_index] * doublings),
      .power_limit_w = key.power_limit_w,
      .threads = key.threads};
  conditions.time_factor *= other_batch_curve(model, device, conditions);
  ComputeTime compute = model.step.compute_time(device, corrected(conditions, device, model.model, model.dataset));
  timing.profiling_s = key.profiling_steps * compute.total_s();
  if (key.schedule != nullptr)
    scale_by(compute,
             share_of_recommended(model.graph, device, passes > 1 ? static_cast<int>(samples) : key.batch, *key.schedule));
  ReplicaTime replica;
  if (one_replica) {
    replica = replica_time(key, conditions);
    spread(compute, sim::seconds_of(replica.makespan), key.workers_on_node);
    timing.memory_bytes = replica.memory_bytes;
    timing.fits = replica.fits;
    if (memory_factor_[profile] != 1) {
      timing.memory_bytes *= memory_factor_[profile];
      timing.fits = timing.memory_bytes <= kUsableMemory * device.memory_bytes;
    }
  }
  const ComputeTime whole = compute.of_passes(passes);
  timing.profiling_s += static_cast<double>(key.evaluations) * (whole.total_s() + key.reinitialisation_s);
  const double gradient_bytes = model.step.gradient_bytes(precision);
  const double storage = instance.storage_bandwidth_bytes_per_s / ranks_on_node;
  const StepTime step = step_time(
      {.compute = compute,
       .input_s = model.step.input_s(samples, storage),
       .passes = passes,
       .gradient_bytes = gradient_bytes,
       .exchange = key.sync == sim::SyncKind::ring           ? Exchange::ring
                   : key.sync == sim::SyncKind::servers_sync ? Exchange::parameter_servers_synchronous
                                                             : Exchange::parameter_servers_asynchronous,
       .ring = {.nodes = key.nodes, .workers_per_node = ranks_on_node, .inside = instance.inside, .network = instance.network},
       .servers = {.servers = std::max(1, key.servers),
                   .network = instance.network,
                   .apply_s = gradient_bytes / instance.server_bytes_per_s,
                   .overlap = instance.server_overlap},
       .overlap = instance.overlap,
       .straggling = straggling(key.nodes * ranks_on_node),
       .exchange_factor = sync_factor_[static_cast<std::size_t>(key.pool)],
       .join = is_of_other_form() ? Join::root_of_squares : Join::overlapped});
  // Workers beyond the first help less, or more, than is believed; never so that one does more than it would alone.
  const double ranks = std::max(1, key.workers / (one_replica ? key.workers_on_node : 1));
  const double stretch = std::max(std::exp(workers_slope_[profile][static_cast<std::size_t>(key.pool)] * std::log2(ranks)),
                                  std::min(1.0, step.worker_s / step.step_s));
  const double own_step_s = step.step_s * stretch;
  timing.step_s = stretch / step.steps_per_s;
  timing.input_bytes = model.step.input_bytes(key.batch) * (key.sync == sim::SyncKind::servers_async ? 1 : key.workers);
  // Bytes as the exchange's time counts them: a world with slower exchanges has more to send.
  if (key.sync == sim::SyncKind::ring)
    timing.network_bytes = ring_bytes(gradient_bytes, key.nodes) * sync_factor_[static_cast<std::size_t>(key.pool)];
  timing.forward_s = std::max(whole.forward_s, model.step.input_s(batch, storage));
  timing.busy_fraction =
      replica.busy_fraction * std::min(1.0, whole.total_s() / own_step_s);  // of a worker's own step, also when pushes overlap
  timing.power_fraction =
      device.busy_w > device.idle_w
          ? (mean_power_w(whole.dynamic_energy_j, own_step_s, device) - device.idle_w) / (device.busy_w - device.idle_w)
          : timing.busy_fraction;
  if (device.busy_w > device.idle_w)
    timing.waiting_power_fraction = (power_law(device).running_w - device.idle_w) / (device.busy_w - device.idle_w);
  return timing;
}

const sim::StepTiming& TrainingModels::remembered(const GroupKey& key, sim::Precision precision) const {
  const auto known = timings_.find(key);
  if (known != timings_.end()) return known->second;
  return timings_.emplace(key, group_timing(key, precision)).first->second;
}

sim::StepTiming TrainingModels::timing(const sim::Job& job, const sim::Configuration& c, const sim::Layout& layout,
                                       std::span<const sim::Plans> plans) const {
  if (const MeasuredSteps* measured = profiles_.of(*job.profile).measured.get()) return measured_timing(*measured, c);
  sim::StepTiming all;
  const double scale = scale_to_duration(job);
  double input_bytes = 0;
  int nodes = 0;
  for (const auto& shares : layout) nodes += static_cast<int>(shares.size());
  for (std::size_t g = 0; g < c.groups.size(); ++g) {
    int on_node = 0;
    for (const sim::NodeShare& share : layout[g]) on_node = std::max(on_node, share.devices);
    const sim::Group& group = c.groups[g];
    const sim::StepPlan& placed = plans[g].step;
    const sim::ThreadPlan& threads = plans[g].threads;
    // Profiles differ in precision, so the profile's index stands for it in the key.
    const sim::StepTiming& one =
        remembered({.profile = job.profile->index,
                    .pool = group.pool,
                    .workers = group.workers,
                    .batch = group.batch_per_worker,
                    .nodes = nodes,
                    .workers_on_node = on_node,
                    .servers = c.sync.servers,
                    .threads = sim::worker_device(cluster_, group.pool).kind == sim::DeviceKind::cpu ? threads.intra_op : 0,
                    .sync = c.sync.kind,
                    .power_limit_w = c.power_limit_w,
                    .schedule = threads.schedule,
                    .profiling_steps = threads.profiling_steps,
                    .placement = placed.device_of_op.empty() ? nullptr : &*placements_.insert(placed.device_of_op).first,
                    .evaluations = placed.evaluations,
                    .reinitialisation_s = placed.reinitialisation_s},
                   job.profile->precision);
    if (g == 0 || one.step_s > all.step_s)
      all = {.step_s = one.step_s,
             .forward_s = one.forward_s,
             .profiling_s = all.profiling_s,
             .busy_fraction = one.busy_fraction,
             .power_fraction = one.power_fraction,
             .waiting_power_fraction = one.waiting_power_fraction,
             .network_bytes = one.network_bytes,
             .memory_bytes = one.memory_bytes,
             .fits = all.fits};
    all.fits = all.fits && one.fits;
    all.profiling_s = std::max(all.profiling_s, one.profiling_s);
    input_bytes += one.input_bytes;
  }
  all.step_s *= scale;
  all.forward_s *= scale;
  all.profiling_s *= scale;
  all.network_bytes *= scale;
  all.input_bytes = input_bytes;
  return all;
}

double TrainingModels::trace_step_s(const sim::Job& job) const {
  int pool = job.pool;
  for (int p = 0; pool < 0 && p < static_cast<int>(cluster_.pools.size()); ++p)
    if (!instance_of(cluster_, p).gpus.empty()) pool = p;
  pool = std::max(pool, 0);
  const int per_node = sim::workers_per_node(cluster_, pool);
  const int batch = std::max(1, static_cast<int>(std::ceil(job.batch_size / job.gpus)));
  return remembered({.profile = job.profile->index,
                     .pool = pool,
                     .workers = job.gpus,
                     .batch = batch,
                     .nodes = (job.gpus + per_node - 1) / per_node,
                     .workers_on_node = std::min(per_node, job.gpus),
                     .servers = 0,
                     .threads = 0,
                     .sync = sim::SyncKind::ring,
                     .power_limit_w = 0,
                     .schedule = nullptr,
                     .profiling_steps = 0},
                    job.profile->precision)
      .step_s;
}

double TrainingModels::scale_to_duration(const sim::Job& job) const {
  if (job.work != sim::Work::steps || job.duration_s <= 0 || job.gpus <= 0) return 1;
  const double believed_s = job.steps * (belief_ != nullptr ? belief_ : this)->trace_step_s(job);
  return believed_s > 0 ? job.duration_s / believed_s : 1;
}

double TrainingModels::node_factor(int pool, int node) const {
  double& factor = node_factor_[static_cast<std::size_t>(pool)][static_cast<std::size_t>(node)];
  if (factor == 0)
    factor = draw_of(*draw_, "node speed", fmt::format("{}/{}", cluster_.pools[static_cast<std::size_t>(pool)].name, node))
                 .log_normal_factor(draw_->errors.step_noise);
  return factor;
}

double TrainingModels::noise(const sim::Job& job, const sim::Configuration& c, const sim::Layout& layout, int stage) const {
  if (!draw_ || draw_->errors.step_noise == 0 || profiles_.of(*job.profile).measured != nullptr) return 1;
  double slowest = 0;  // a synchronous step waits for the slowest node
  for (std::size_t g = 0; g < layout.size(); ++g)
    for (const sim::NodeShare& share : layout[g]) slowest = std::max(slowest, node_factor(c.groups[g].pool, share.node));
  return slowest *
         draw_of(*draw_, "stage speed", fmt::format("{}/{}", job.name, stage)).log_normal_factor(draw_->errors.step_noise);
}

// ---- convergence

std::uint64_t TrainingModels::individuality(const sim::Job& job) const {
  if (!draw_ || (draw_->errors.examples_error == 0 && draw_->errors.evaluation_noise == 0)) return 0;
  return sim::stream_key(draw_->seed, static_cast<std::uint64_t>(draw_->repetition), "job", job.name) | 1;
}

ConvergenceErrors TrainingModels::errors_of(const sim::Job& job) const {
  ConvergenceErrors errors = convergence_errors_[static_cast<std::size_t>(job.profile->index)];
  if (draw_) errors.examples_factor = draw_of(*draw_, "examples", job.name).log_normal_factor(draw_->errors.examples_error);
  return errors;
}

double TrainingModels::default_epoch_cap(const sim::Profile& profile) const {
  const auto& convergence = profiles_.of(profile).convergence;
  return convergence ? std::min(3 * convergence->reference_epochs, sim::kMostEpochs) : 1;
}

sim::EpochOutcome TrainingModels::train(const sim::Job& job, const sim::Configuration& configuration, double examples,
                                        sim::TrainingState& state) const {
  if (!profiles_.of(*job.profile).convergence) {
    state.examples += examples;
    return {};
  }
  return train_with(errors_of(job), job, configuration, examples, state);
}

sim::EpochOutcome TrainingModels::train_with(const ConvergenceErrors& errors, const sim::Job& job,
                                             const sim::Configuration& configuration, double examples,
                                             sim::TrainingState& state) const {
  const auto& convergence = profiles_.of(*job.profile).convergence;
  if (!convergence) {
    state.examples += examples;
    return {};
  }
  const StepSetting setting = setting_of(job, configuration);
  const sim::TrainingState before = state;
  const double warming = std::min(examples, state.warmup_examples);
  if (warming > 0) {
    ConvergenceErrors slow = errors;
    slow.examples_factor /= kWarmupUse;
    advance(*convergence, slow, state, setting, warming);
    state.warmup_examples -= warming;
  }
  if (examples > warming) advance(*convergence, errors, state, setting, examples - warming);
  if (state.diverged) {
    state = before;
    return {.diverged = true};
  }
  return {.noise_scale = noise_scale(*convergence, errors, state.progress, setting.global_batch)};
}

double TrainingModels::accuracy(const sim::Job& job, const sim::TrainingState& state) const {
  return profiles_.of(*job.profile).convergence ? accuracy_with(errors_of(job), job, state) : sim::kUnset;
}

double TrainingModels::accuracy_with(const ConvergenceErrors& errors, const sim::Job& job,
                                     const sim::TrainingState& state) const {
  const auto& convergence = profiles_.of(*job.profile).convergence;
  return convergence ? workloads::accuracy(*convergence, errors, state) : sim::kUnset;
}

double TrainingModels::measured_accuracy(const sim::Job& job, int epoch, double accuracy) const {
  if (!draw_ || draw_->errors.evaluation_noise == 0 || std::isnan(accuracy)) return accuracy;
  const double deviation = draw_->errors.evaluation_noise * evaluation_deviation(*job.profile, accuracy);
  const double reading = accuracy + deviation * draw_of(*draw_, "evaluation", fmt::format("{}/{}", job.name, epoch)).normal();
  return std::clamp(reading, 0.0, 1.0);
}

double TrainingModels::measured_noise_scale(const sim::Job& job, int stage, double noise_scale) const {
  if (!draw_ || draw_->errors.evaluation_noise == 0) return noise_scale;
  return noise_scale * draw_of(*draw_, "noise scale seen", fmt::format("{}/{}", job.name, stage))
                           .log_normal_factor(kNoiseScaleReading * draw_->errors.evaluation_noise);
}

double TrainingModels::evaluation_deviation(const sim::Profile& profile, double accuracy) const {
  const ProfileModel& model = profiles_.of(profile);
  // The metric may average over other units than samples: words, characters.
  return workloads::evaluation_deviation(accuracy,
                                         model.convergence ? model.convergence->validation_samples : model.validation_samples);
}

}  // namespace rehearse::workloads
