#include "sim/replay/replay.hpp"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <memory>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/replay/live_job.hpp"
#include "sim/replay/nodes.hpp"
#include "sim/replay/validate.hpp"

namespace rehearse::sim {

namespace {

/// What an event's subject says: a job's slot and which of its events, or one of these.
enum class JobTimer : std::uint32_t { phase_end = 0, deadline = 1 };
constexpr std::uint32_t kWake = 0xFFFFFFFFu;

std::uint32_t subject_of(JobSlot slot, JobTimer timer) { return slot * 2 + static_cast<std::uint32_t>(timer); }

/// Under pool billing idle money is shared out at the very end: records wait until then.
struct HeldRecord {
  Job job;
  Choice choice;
  JobRecord record;
  std::vector<double> usd_of_pool;
};

class Replay final : public EventHandler {
 public:
  explicit Replay(const ReplaySetup& setup);
  ReplayTotals run(void (*drive)(EventQueue&, EventHandler&));
  void handle(const Event& event) override;
  void decide(double now_s) override;

 private:
  void pull(std::size_t source);
  void arrive(std::size_t source, double now_s);
  JobSlot new_slot(Job job);
  void make_menu(JobSlot slot, double now_s);
  void enqueue(JobSlot slot, double now_s);

  void apply(const QueueAnswer& answer, double now_s);
  const Choice& entry_of(JobSlot slot, int entry) const;
  bool is_free(const Configuration& configuration, const Layout& named) const;
  void start(JobSlot slot, int entry, const Layout& wanted, double now_s);
  void allocate(JobSlot slot, const Layout& wanted);
  void hold(JobSlot slot, double busy_fraction, double now_s);
  void let_go(JobSlot slot, double now_s);
  void begin_running(JobSlot slot, double now_s);
  void begin_checkpoint(JobSlot slot, double now_s);
  void end_checkpoint(JobSlot slot, double now_s);
  void end_stage(JobSlot slot, double now_s, double elapsed_s);
  void on_phase_end(JobSlot slot, double now_s);
  void on_deadline(JobSlot slot, double now_s);
  void end_job(JobSlot slot, FailureReason reason, double now_s);
  void emit(JobSlot slot, FailureReason reason, double now_s);
  void share_idle_money();
  void finish(double now_s);

  StageInputs inputs_of(JobSlot slot) const;
  template <class Ask>
  void ask_policy(std::string_view decision, const Job* job, double now_s, Ask&& ask);
  void tell(double now_s, JobEvent event, JobSlot slot);

  const ReplaySetup& setup_;
  const Cluster& cluster_;
  EventQueue events_;
  Meter meter_;
  std::vector<Nodes> nodes_;
  std::vector<int> free_devices_;
  std::vector<std::optional<Job>> next_of_source_;
  std::vector<QueueJob> jobs_;
  std::vector<LiveJob> live_;
  std::vector<JobSlot> free_slots_;
  std::vector<JobSlot> queued_, ended_;
  QueueAnswer answer_;
  EventHandle wake_;
  std::deque<HeldRecord> held_;
  ReplayTotals totals_;
  std::uint64_t active_ = 0;  ///< jobs that have arrived and not ended
  int waiting_ = 0;           ///< of those, jobs in the queue
  double now_s_ = 0;
};

Replay::Replay(const ReplaySetup& setup) : setup_(setup), cluster_(*setup.cluster), meter_(*setup.cluster, setup.costs) {
  for (std::size_t p = 0; p < cluster_.pools.size(); ++p) {
    nodes_.emplace_back(cluster_.pools[p].nodes, workers_per_node(cluster_, static_cast<PoolId>(p)));
    free_devices_.push_back(nodes_.back().free_devices());
  }
  next_of_source_.resize(setup.sources.size());
}

template <class Ask>
void Replay::ask_policy(std::string_view decision, const Job* job, double now_s, Ask&& ask) {
  const auto fail = [&](const char* what) {
    throw PolicyError(fmt::format("policy \"{}\", {}{}, at {:.6f} s: {}", setup_.policy.name, decision,
                                  job != nullptr ? fmt::format(", job \"{}\"", job->name) : std::string(), now_s, what));
  };
  const auto begun = std::chrono::steady_clock::now();
  try {
    ask();
  } catch (const CheckFailed&) {
    throw;
  } catch (const std::exception& error) {
    fail(error.what());
  }
  totals_.decision_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  ++totals_.decisions;
}

void Replay::tell(double now_s, JobEvent event, JobSlot slot) {
  const QueueJob& job = jobs_[slot];
  const int entry = live_[slot].entry;
  setup_.recorder->on_event(now_s, event, job.job, entry < 0 ? nullptr : &entry_of(slot, entry).configuration);
}

// ---- arrivals

void Replay::pull(std::size_t source) {
  if (next_of_source_[source]) return;
  std::optional<Job> job = setup_.sources[source]->next();
  if (!job) return;
  const double date_s = on_date_grid(job->submit_s);
  check(date_s >= now_s_, "a source gives a job that was submitted in the past", now_s_);
  job->submit_s = date_s;
  next_of_source_[source] = std::move(job);
  events_.push({date_s, EventClass::arrival, static_cast<std::uint32_t>(source)});
}

JobSlot Replay::new_slot(Job job) {
  JobSlot slot = static_cast<JobSlot>(jobs_.size());
  if (free_slots_.empty()) {
    jobs_.emplace_back();
    live_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    live_[slot] = {};
  }
  jobs_[slot].job = std::move(job);
  jobs_[slot].number = totals_.jobs++;
  live_[slot].in_use = true;
  ++active_;
  return slot;
}

void Replay::make_menu(JobSlot slot, double now_s) {
  QueueJob& queued = jobs_[slot];
  const Job& job = queued.job;
  if (job.work == Work::rigid) {
    int pool = job.pool;
    for (int p = 0; pool < 0 && p < static_cast<int>(nodes_.size()); ++p)
      if (nodes_[static_cast<std::size_t>(p)].capacity() >= job.gpus) pool = p;
    queued.menu = {};
    if (pool < 0) return;
    Choice choice;
    choice.configuration.groups.push_back({.pool = pool, .workers = job.gpus});
    choice.predicted.time_s = job.duration_s;
    choice.predicted.cost_usd = usd_per_s(cluster_, setup_.costs, choice.configuration) * job.duration_s;
    queued.menu.ranked.push_back(std::move(choice));
    return;
  }
  ask_policy("configure", &job, now_s, [&] {
    queued.menu = setup_.policy.configure->configure(job, now_s);
    validate_menu(cluster_, job, queued.menu);
  });
  constexpr int kListedRanks = 3;
  int rank = 0;
  for (const Choice& choice : queued.menu.ranked) {
    if (rank == kListedRanks) break;
    setup_.recorder->on_decision(
        {.time_s = now_s, .job = &job, .decision = "configure", .rank = rank++, .choice = &choice, .remedy = queued.menu.remedy});
  }
}

void Replay::arrive(std::size_t source, double now_s) {
  const JobSlot slot = new_slot(std::move(*next_of_source_[source]));
  next_of_source_[source].reset();
  tell(now_s, JobEvent::submitted, slot);
  make_menu(slot, now_s);
  QueueJob& queued = jobs_[slot];
  queued.first_fitting_entry = -1;
  for (std::size_t entry = 0; entry < queued.menu.ranked.size(); ++entry) {
    if (!could_ever_fit(cluster_, queued.menu.ranked[entry].configuration)) continue;
    queued.first_fitting_entry = static_cast<int>(entry);
    break;
  }
  if (!queued.menu.feasible && setup_.infeasible == Infeasible::reject) {
    tell(now_s, JobEvent::rejected, slot);
    end_job(slot, FailureReason::rejected, now_s);
  } else if (queued.first_fitting_entry < 0) {
    end_job(slot, FailureReason::does_not_fit, now_s);
  } else {
    if (queued.job.has_deadline() && queued.job.on_deadline == OnDeadline::stop) {
      const double date_s = on_date_grid(now_s + queued.job.deadline_s);
      live_[slot].deadline = events_.push({date_s, EventClass::timer, subject_of(slot, JobTimer::deadline)});
    }
    enqueue(slot, now_s);
  }
  pull(source);
}

void Replay::enqueue(JobSlot slot, double now_s) {
  live_[slot].state = JobState::queued;
  live_[slot].entry = -1;
  jobs_[slot].queued_since_s = now_s;
  queued_.push_back(slot);
  ++waiting_;
}

// ---- decisions

void Replay::decide(double now_s) {
  now_s_ = now_s;
  const QueueView view{
      .now_s = now_s, .cluster = &cluster_, .queued = queued_, .ended = ended_, .jobs = jobs_, .free_devices = free_devices_};
  answer_.clear();
  ask_policy("queue", nullptr, now_s, [&] { setup_.policy.queue->decide(view, answer_); });
  queued_.clear();
  for (const JobSlot slot : ended_) {  // only now does nobody know the slot any more
    live_[slot].in_use = false;
    free_slots_.push_back(slot);
  }
  ended_.clear();
  apply(answer_, now_s);
  if (setup_.pool_samples) {
    for (std::size_t p = 0; p < nodes_.size(); ++p) {
      PoolSample sample = meter_.sample(now_s, static_cast<PoolId>(p));
      sample.queued_jobs = waiting_;
      setup_.recorder->on_pool_sample(sample);
    }
  }
}

const Choice& Replay::entry_of(JobSlot slot, int entry) const { return jobs_[slot].menu.ranked[static_cast<std::size_t>(entry)]; }

/// Are there so many free devices now, and on the nodes that are named, if any?
bool Replay::is_free(const Configuration& configuration, const Layout& named) const {
  for (std::size_t g = 0; g < configuration.groups.size(); ++g) {
    const PoolId pool = configuration.groups[g].pool;
    if (configuration.workers_of(pool) > free_devices_[static_cast<std::size_t>(pool)]) return false;
    if (named.empty()) continue;
    const Nodes& nodes = nodes_[static_cast<std::size_t>(pool)];
    for (const NodeShare& share : named[g])
      if (share.devices > nodes.free_on(share.node)) return false;
  }
  return true;
}

void Replay::apply(const QueueAnswer& answer, double now_s) {
  const auto require = [&](bool ok, JobSlot slot, std::string_view what) {
    if (ok) return;
    const bool known = slot < jobs_.size() && live_[slot].in_use;
    throw PolicyError(fmt::format("policy \"{}\", queue, {}, at {:.6f} s: {}", setup_.policy.name,
                                  known ? fmt::format("job \"{}\"", jobs_[slot].job.name) : fmt::format("slot {}", slot), now_s,
                                  what));
  };
  const auto known = [&](JobSlot slot, JobState state) {
    return slot < jobs_.size() && live_[slot].in_use && live_[slot].state == state;
  };
  const auto valid_entry = [&](const Start& s) {
    return s.entry >= 0 && static_cast<std::size_t>(s.entry) < jobs_[s.job].menu.ranked.size() &&
           could_ever_fit(cluster_, entry_of(s.job, s.entry).configuration);
  };
  for (const JobSlot slot : answer.preempts) {
    require(known(slot, JobState::running), slot, "preempts a job that is not running");
    ++live_[slot].preemptions;
    tell(now_s, JobEvent::preempted, slot);
    begin_checkpoint(slot, now_s);
  }
  for (const Start& resize : answer.resizes) {
    require(known(resize.job, JobState::running), resize.job, "resizes a job that is not running");
    require(valid_entry(resize), resize.job, "resizes a job to an entry that its menu does not have or that never fits");
    require(resize.nodes.empty(), resize.job, "names nodes for a resize: they are chosen after the checkpoint");
    ++live_[resize.job].reconfigurations;
    live_[resize.job].resize_to = resize.entry;
    tell(now_s, JobEvent::resized, resize.job);
    begin_checkpoint(resize.job, now_s);
  }
  for (const Start& s : answer.starts) {
    require(known(s.job, JobState::queued), s.job, "starts a job that is not in the queue");
    require(valid_entry(s), s.job, "starts a job with an entry that its menu does not have or that never fits");
    const Configuration& configuration = entry_of(s.job, s.entry).configuration;
    if (!s.nodes.empty())
      ask_policy("queue", &jobs_[s.job].job, now_s, [&] { validate_layout(cluster_, configuration, s.nodes); });
    require(is_free(configuration, s.nodes), s.job, "starts a job on devices that are not free");
    --waiting_;
    start(s.job, s.entry, s.nodes, now_s);
  }
  if (answer.wake_at_s != kNever) {
    require(answer.wake_at_s > now_s, 0, "asks to be woken in the past");
    events_.cancel(wake_);
    wake_ = events_.push({on_date_grid(answer.wake_at_s), EventClass::timer, kWake});
  }
}

// ---- stages

StageInputs Replay::inputs_of(JobSlot slot) const {
  const LiveJob& live = live_[slot];
  return {.job = &jobs_[slot].job,
          .choice = &entry_of(slot, live.entry),
          .layout = &live.layout,
          .plans = live.plans,
          .progress = &live.progress,
          .stage = live.stages};
}

void Replay::allocate(JobSlot slot, const Layout& wanted) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  live.layout.resize(configuration.groups.size());
  for (std::size_t g = 0; g < configuration.groups.size(); ++g) {
    const auto pool = static_cast<std::size_t>(configuration.groups[g].pool);
    live.layout[g].clear();
    if (wanted.empty()) {
      nodes_[pool].take_consolidated(configuration.groups[g].workers, live.layout[g]);
    } else {
      live.layout[g] = wanted[g];
      nodes_[pool].take(live.layout[g]);
    }
    free_devices_[pool] = nodes_[pool].free_devices();
  }
}

void Replay::start(JobSlot slot, int entry, const Layout& wanted, double now_s) {
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  live.entry = entry;
  live.resize_to = -1;
  allocate(slot, wanted);
  const Choice& choice = entry_of(slot, entry);
  setup_.recorder->on_decision(
      {.time_s = now_s, .job = &job, .decision = "start", .rank = entry, .choice = &choice, .remedy = jobs_[slot].menu.remedy});
  live.plans.clear();
  if (job.work != Work::rigid) {
    ask_policy("place and threads", &job, now_s, [&] {
      live.plans = ask_plans(setup_.policy, *setup_.models.step_times, cluster_, job, choice.configuration, live.layout);
      const OpGraph& graph = setup_.models.step_times->graph(*job.profile);
      for (std::size_t g = 0; g < live.plans.size(); ++g) {
        const Device& worker = worker_device(cluster_, choice.configuration.groups[g].pool);
        validate_step_plan(graph, live.layout[g].front().devices, live.plans[g].step);
        if (worker.kind == DeviceKind::cpu) validate_thread_plan(graph, worker, live.plans[g].threads);
      }
    });
  }
  live.stage_start_s = now_s;
  live.stage_usd = live.stage_switch_usd = 0;
  if (live.first_start_s != live.first_start_s) live.first_start_s = now_s;
  try {
    live.course = stage_course(inputs_of(slot), setup_.models);
  } catch (const PolicyError& error) {
    throw PolicyError(
        fmt::format("policy \"{}\", configure, job \"{}\", at {:.6f} s: {}", setup_.policy.name, job.name, now_s, error.what()));
  }
  hold(slot, 0, now_s);
  tell(now_s, JobEvent::started, slot);
  if (!live.course.fits_memory) {
    let_go(slot, now_s);
    end_job(slot, FailureReason::out_of_memory, now_s);
    return;
  }
  const double start_s = job.work == Work::rigid ? 0 : setup_.costs.start_s;
  live.state = JobState::starting;
  if (start_s > 0)
    live.phase_end = events_.push({on_date_grid(now_s + start_s), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
  else
    begin_running(slot, now_s);
}

/// (Re)takes the devices at a new power; what was held before is charged first.
void Replay::hold(JobSlot slot, double busy_fraction, double now_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  for (const Holding& holding : live.holdings) meter_.give_back(now_s, live.held_since_s, holding, live.meter);
  live.holdings.clear();
  live.held_since_s = now_s;
  for (const Group& group : configuration.groups) {
    live.holdings.push_back({.pool = group.pool,
                             .devices = group.workers,
                             .power_w = power_w(cluster_, group, configuration.power_limit_w, busy_fraction),
                             .busy_devices = group.workers * busy_fraction});
    meter_.take(now_s, live.holdings.back());
  }
}

void Replay::let_go(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  for (const Holding& holding : live.holdings) meter_.give_back(now_s, live.held_since_s, holding, live.meter);
  live.holdings.clear();
  if (configuration.sync.servers > 0) {
    const double rate = configuration.sync.servers * setup_.costs.parameter_server_usd_per_hour / kSecondsPerHour;
    meter_.charge_parameter_servers(rate * (now_s - live.stage_start_s), live.meter);
  }
  for (std::size_t g = 0; g < live.layout.size(); ++g) {
    const auto pool = static_cast<std::size_t>(configuration.groups[g].pool);
    nodes_[pool].give_back(live.layout[g]);
    free_devices_[pool] = nodes_[pool].free_devices();
  }
}

void Replay::begin_running(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  live.state = JobState::running;
  live.running_since_s = now_s;
  hold(slot, live.course.busy_fraction, now_s);
  tell(now_s, JobEvent::running, slot);
  live.phase_end =
      events_.push({on_date_grid(now_s + live.course.length_s), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
}

void Replay::begin_checkpoint(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  events_.cancel(live.phase_end);
  live.cut_after_s = now_s - live.running_since_s;
  live.state = JobState::checkpointing;
  hold(slot, 0, now_s);
  const double checkpoint_s = jobs_[slot].job.work == Work::rigid ? 0 : setup_.costs.checkpoint_s;
  live.phase_end =
      events_.push({on_date_grid(now_s + checkpoint_s), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
}

void Replay::end_checkpoint(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  end_stage(slot, now_s, live.cut_after_s);
  const int resize_to = live.resize_to;
  enqueue(slot, now_s);
  if (resize_to < 0) return;
  // Starts again at once where its new shape is free; otherwise it waits in the queue like any other.
  if (!is_free(entry_of(slot, resize_to).configuration, {})) return;
  queued_.pop_back();
  --waiting_;
  start(slot, resize_to, {}, now_s);
}

/// Lets go of the devices, settles money and progress, and tells the stage.
void Replay::end_stage(JobSlot slot, double now_s, double elapsed_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  const double usd_before = live.meter.usd;
  const bool ran = live.state != JobState::starting;
  const Progress from = live.progress;
  const Progress to = ran ? progress_at(inputs_of(slot), live.course, setup_.models, elapsed_s) : from;
  const double rate = usd_per_s(cluster_, setup_.costs, configuration);
  let_go(slot, now_s);
  live.stage_usd = rate * (now_s - live.stage_start_s);
  const double lost_usd = ran ? rate * lost_seconds(live.course, elapsed_s) : 0;
  const double switch_s = ran ? (live.running_since_s - live.stage_start_s) +
                                    (live.state == JobState::checkpointing ? now_s - live.running_since_s - live.cut_after_s : 0)
                              : now_s - live.stage_start_s;
  live.stage_switch_usd = rate * switch_s;
  live.cost.lost_usd += lost_usd;
  live.cost.switch_usd += live.stage_switch_usd;
  check(live.meter.usd >= usd_before, "a stage earns money", now_s);
  setup_.recorder->on_stage({.job = &jobs_[slot].job,
                             .stage = live.stages,
                             .start_s = live.stage_start_s,
                             .end_s = now_s,
                             .configuration = &configuration,
                             .course = &live.course,
                             .from = from,
                             .to = to,
                             .cost_usd = live.stage_usd,
                             .switch_cost_usd = live.stage_switch_usd});
  live.progress = to;
  ++live.stages;
}

void Replay::on_phase_end(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  switch (live.state) {
    case JobState::starting:
      begin_running(slot, now_s);
      break;
    case JobState::checkpointing:
      end_checkpoint(slot, now_s);
      break;
    case JobState::running:
      end_stage(slot, now_s, live.course.length_s);
      end_job(slot, live.course.failure, now_s);
      break;
    default:
      fail_check("a job that holds nothing ends a phase", now_s);
  }
}

void Replay::on_deadline(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  if (live.state == JobState::queued) {
    --waiting_;
    std::erase(queued_, slot);
  } else {
    events_.cancel(live.phase_end);
    const double elapsed_s = live.state == JobState::checkpointing ? live.cut_after_s : now_s - live.running_since_s;
    end_stage(slot, now_s, elapsed_s);
  }
  end_job(slot, FailureReason::deadline_stop, now_s);
}

// ---- ends

void Replay::emit(JobSlot slot, FailureReason reason, double now_s) {
  LiveJob& live = live_[slot];
  QueueJob& queued = jobs_[slot];
  JobRecord record{.job = &queued.job,
                   .number = queued.number,
                   .state = reason == FailureReason::none ? JobState::finished : JobState::failed,
                   .reason = reason,
                   .start_s = live.first_start_s,
                   .end_s = now_s,
                   .epochs = static_cast<double>(live.progress.epochs),
                   .accuracy = live.progress.accuracy,
                   .cost = live.cost,
                   .energy_j = live.meter.energy_j,
                   .device_s = live.meter.device_s,
                   .preemptions = live.preemptions,
                   .reconfigurations = live.reconfigurations};
  record.cost.compute_usd = live.meter.usd - record.cost.switch_usd - record.cost.lost_usd;
  if (live.entry >= 0) {
    const Configuration& configuration = entry_of(slot, live.entry).configuration;
    record.pool = configuration.groups.front().pool;
    record.workers = configuration.workers();
    record.batch_size = configuration.batch_size();
    record.choice = &entry_of(slot, live.entry);
  }
  if (record.accuracy == record.accuracy)
    record.accuracy_deviation = setup_.models.convergence->evaluation_deviation(*queued.job.profile, record.accuracy);
  ++(reason == FailureReason::none ? totals_.finished : totals_.failed);
  for (std::size_t s = 0; s < setup_.sources.size(); ++s)
    if (setup_.sources[s]->on_end(record)) pull(s);
  if (setup_.costs.billing == Billing::allocated) {
    setup_.recorder->on_job(record);
    return;
  }
  held_.push_back({.job = queued.job, .record = record, .usd_of_pool = live.meter.usd_of_pool});
  HeldRecord& held = held_.back();
  held.record.job = &held.job;
  if (record.choice != nullptr) {
    held.choice = *record.choice;
    held.record.choice = &held.choice;
  }
}

void Replay::end_job(JobSlot slot, FailureReason reason, double now_s) {
  LiveJob& live = live_[slot];
  now_s_ = now_s;
  events_.cancel(live.deadline);
  live.state = reason == FailureReason::none ? JobState::finished : JobState::failed;
  tell(now_s, reason == FailureReason::none ? JobEvent::finished : JobEvent::failed, slot);
  emit(slot, reason, now_s);
  ended_.push_back(slot);
  --active_;
  totals_.last_end_s = now_s;
  if (setup_.on_progress) setup_.on_progress(totals_.finished + totals_.failed);
}

/// Pool billing: each pool's idle money goes to its jobs in proportion to what they paid for it.
void Replay::share_idle_money() {
  const std::vector<PoolTotals>& pools = meter_.totals();
  for (HeldRecord& held : held_) {
    for (std::size_t p = 0; p < held.usd_of_pool.size(); ++p)
      if (held.usd_of_pool[p] > 0) held.record.cost.wait_usd += pools[p].idle_usd * held.usd_of_pool[p] / pools[p].jobs_usd;
    totals_.shared_idle_usd += held.record.cost.wait_usd;
    setup_.recorder->on_job(held.record);
  }
}

void Replay::finish(double now_s) {
  if (active_ > 0)
    throw PolicyError(
        fmt::format("policy \"{}\", queue, at {:.6f} s: leaves {} jobs waiting forever", setup_.policy.name, now_s, active_));
  meter_.close(totals_.last_end_s);
  meter_.check_balance(totals_.last_end_s);
  check(totals_.finished + totals_.failed == totals_.jobs, "not every job ended in exactly one final state", now_s);
  if (setup_.costs.billing == Billing::pool) share_idle_money();
  totals_.pools = meter_.totals();
  totals_.parameter_servers_usd = meter_.parameter_servers_usd();
}

void Replay::handle(const Event& event) {
  now_s_ = event.date_s;
  if (event.event_class == EventClass::arrival) {
    if (totals_.jobs == 0) {
      totals_.first_submit_s = event.date_s;
      meter_.open(event.date_s);
    }
    arrive(event.subject, event.date_s);
  } else if (event.subject != kWake) {
    const JobSlot slot = event.subject / 2;
    if (event.subject % 2 == static_cast<std::uint32_t>(JobTimer::deadline))
      on_deadline(slot, event.date_s);
    else
      on_phase_end(slot, event.date_s);
  }
}

ReplayTotals Replay::run(void (*drive)(EventQueue&, EventHandler&)) {
  for (std::size_t s = 0; s < setup_.sources.size(); ++s) pull(s);
  drive(events_, *this);
  finish(now_s_);
  return totals_;
}

}  // namespace

ReplayTotals replay(const ReplaySetup& setup, void (*drive)(EventQueue&, EventHandler&)) {
  return std::make_unique<Replay>(setup)->run(drive);
}

}  // namespace rehearse::sim
