#include "sim/replay/replay.hpp"

#include <algorithm>
#include <memory>

#include "sim/base/units.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/replay_run.hpp"

namespace rehearse::sim {

ReplayRun::ReplayRun(const ReplaySetup& setup)
    : setup_(setup), cluster_(*setup.cluster), meter_(*setup.cluster, setup.costs), books_(setup.costs.billing) {
  std::vector<std::vector<int>> racks = racks_of(cluster_).of_node;
  racks.resize(cluster_.pools.size());
  for (std::size_t p = 0; p < cluster_.pools.size(); ++p) {
    nodes_.emplace_back(cluster_.pools[p].nodes, workers_per_node(cluster_, static_cast<PoolId>(p)), racks[p]);
    free_devices_.push_back(nodes_.back().free_devices());
    shares_.push_back(unshared_devices(cluster_, static_cast<PoolId>(p)));
  }
  tenants_.resize(cluster_.pools.size());
  next_of_source_.resize(setup.sources.size());
  if (JobNetwork::is_needed(cluster_)) network_ = std::make_unique<JobNetwork>(cluster_, setup.network_solver);
  if (has_node_events(cluster_, setup.nodes)) node_watch_ = std::make_unique<NodeWatch>(cluster_, setup.nodes);
  if (auto* oracle = dynamic_cast<OracleQueue*>(setup.policy.queue)) oracle->learn(*this);
}

void ReplayRun::tell(double now_s, JobEvent event, JobSlot slot) {
  const QueueJob& job = jobs_[slot];
  const int entry = live_[slot].entry;
  setup_.recorder->on_event(now_s, event, job.job, entry < 0 ? nullptr : &entry_of(slot, entry).configuration);
}

void ReplayRun::pull(std::size_t source) {
  if (next_of_source_[source]) return;
  std::optional<Job> job = setup_.sources[source]->next();
  if (!job) return;
  const double date_s = on_date_grid(job->submit_s);
  check(date_s >= now_s_, "a source gives a job that was submitted in the past", now_s_);
  job->submit_s = date_s;
  next_of_source_[source] = std::move(job);
  events_.push({date_s, EventClass::arrival, static_cast<std::uint32_t>(source)});
}

namespace {

/// As if newly made, in a quarter of an assignment's time.
template <class T>
void renew(T& value) {
  std::destroy_at(&value);
  std::construct_at(&value);
}

/// One device of one node, which others may be on.
bool names_shared_device(const Layout& named) {
  return named.size() == 1 && named[0].size() == 1 && named[0].front().devices == 1 &&
         named[0].front().shared_device != DeviceShares::kNone;
}

}  // namespace

void LiveJob::clear() {
  Layout held = std::move(layout);
  std::vector<Holding> holds = std::move(holdings);
  renew(*this);
  layout = std::move(held);
  holdings = std::move(holds);
}

JobSlot ReplayRun::new_slot(Job&& job) {
  JobSlot slot = static_cast<JobSlot>(jobs_.size());
  if (free_slots_.empty()) {
    jobs_.emplace_back();
    live_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  jobs_[slot].job = std::move(job);
  jobs_[slot].number = totals_.jobs++;
  live_[slot].in_use = true;
  ++active_;
  return slot;
}

void ReplayRun::make_menu(JobSlot slot, double now_s) {
  QueueJob& queued = jobs_[slot];
  const Job& job = queued.job;
  live_[slot].pause_since_s = now_s;
  if (job.work == Work::rigid) {
    queued.menu = rigid_menu(job, cluster_, setup_.costs);
    share_menu(slot);
    return;
  }
  ask_policy("configure", &job, now_s, [&] {
    setup_.policy.configure->look(*this);
    queued.menu = setup_.policy.configure->configure(job, now_s);
    validate_menu(cluster_, job, queued.menu);
    check_pause(queued.menu.pause);
  });
  share_menu(slot);
  if (!queued.menu.ranked.empty()) choices_.share(queued.menu.ranked);
  tell_menu(job, queued.menu, now_s);
}

void ReplayRun::tell_menu(const Job& job, const Menu& menu, double now_s) {
  constexpr int kListedRanks = 3;
  int rank = 0;
  for (const Choice& choice : menu.ranked) {
    if (rank == kListedRanks) break;
    setup_.recorder->on_decision(
        {.time_s = now_s, .job = &job, .decision = "configure", .rank = rank++, .choice = &choice, .remedy = menu.remedy});
  }
}

void ReplayRun::find_first_fitting(JobSlot slot) {
  QueueJob& queued = jobs_[slot];
  const Choices& ranked = queued.menu.ranked;
  queued.first_fitting_entry = -1;
  for (std::size_t entry = 0; entry < ranked.size(); ++entry) {
    if (!could_ever_fit(cluster_, ranked[entry].configuration)) continue;
    queued.first_fitting_entry = static_cast<int>(entry);
    return;
  }
}

void ReplayRun::arrive(std::size_t source, double now_s) {
  const JobSlot slot = new_slot(std::move(*next_of_source_[source]));
  next_of_source_[source].reset();
  dates_without_end_ = 0;
  tell(now_s, JobEvent::submitted, slot);
  make_menu(slot, now_s);
  admit(slot, now_s);
  pull(source);
}

/// A job with a new menu that has not been in the queue yet.
void ReplayRun::admit(JobSlot slot, double now_s) {
  QueueJob& queued = jobs_[slot];
  find_first_fitting(slot);
  if (!queued.menu.feasible && setup_.infeasible == Infeasible::reject && live_[slot].stages == 0) {
    tell(now_s, JobEvent::rejected, slot);
    end_job(slot, FailureReason::rejected, now_s);
    return;
  }
  if (queued.first_fitting_entry < 0) {
    end_job(slot, FailureReason::does_not_fit, now_s);
    return;
  }
  LiveJob& live = live_[slot];
  if (queued.job.has_deadline() && queued.job.on_deadline == OnDeadline::stop && live.deadline.slot == EventHandle::kNone) {
    const double date_s = on_date_grid(queued.job.submit_s + queued.job.deadline_s);
    live.deadline = events_.push({date_s, EventClass::timer, subject_of(slot, JobTimer::deadline)});
  }
  const bool waits = live.pauses == 0 && live.stages == 0 && (!queued.job.after.empty() || queued.menu.wait_s > 0);
  if (waits)
    hold_back(slot, now_s);
  else if (queued.menu.pause.is_set())
    pause(slot, now_s);
  else
    enqueue(slot, now_s);
}

void ReplayRun::enqueue(JobSlot slot, double now_s) {
  live_[slot].state = JobState::queued;
  live_[slot].entry = -1;
  jobs_[slot].queued_since_s = now_s;
  queued_.push_back(slot);
  ++waiting_;
  show(slot, now_s);
}

void ReplayRun::decide(double now_s) {
  now_s_ = now_s;
  const QueueView view{.now_s = now_s,
                       .cluster = &cluster_,
                       .queued = queued_,
                       .started = started_,
                       .changed = changed_,
                       .ended = ended_,
                       .jobs = jobs_,
                       .free_devices = free_devices_,
                       .nodes = nodes_,
                       .shares = shares_,
                       .sharing = &setup_.sharing,
                       .costs = &setup_.costs,
                       .held = this,
                       .sight = this};
  answer_.clear();
  ask_policy("queue", nullptr, now_s, [&] { setup_.policy.queue->decide(view, answer_); });
  queued_.clear();
  started_.clear();
  changed_.clear();
  for (const JobSlot slot : ended_) {                      // only now does nobody know the slot any more
    if (live_[slot].state < JobState::finished) continue;  // it pauses
    live_[slot].clear();
    renew(jobs_[slot]);
    free_slots_.push_back(slot);
  }
  ended_.clear();
  apply(answer_, now_s);
  // A job that was rejected or found no memory has left: the queue is told at this date.
  if (!ended_.empty()) events_.push({now_s, EventClass::timer, kWake});
  wake_paused(now_s);
  if (network_) settle_network(now_s);
  meter_.set_waiting(now_s, waiting_ > 0);
  if (setup_.pool_samples) {
    for (std::size_t p = 0; p < nodes_.size(); ++p) {
      PoolSample sample = meter_.sample(now_s, static_cast<PoolId>(p));
      sample.queued_jobs = waiting_;
      sample.fragmentation = fragmentation(static_cast<PoolId>(p));
      setup_.recorder->on_pool_sample(sample);
    }
  }
  constexpr std::uint64_t kDatesBetweenTells = 10'000;
  if (++dates_ % kDatesBetweenTells == 0 && totals_.jobs > 0 && setup_.on_progress) setup_.on_progress(progress_now(now_s));
  look_at_wakes(now_s);
  look_for_progress(now_s);
  if (!node_watch_) return;
  if (active_ == 0 && !more_will_arrive()) stop_node_events();
  check_nodes_are_waited_for(now_s);
}

/// For the first job that waits for this pool and nothing else, as the queue has named it.
double ReplayRun::fragmentation(PoolId pool) const {
  const Nodes& nodes = nodes_[static_cast<std::size_t>(pool)];
  for (const JobSlot slot : answer_.heads) {
    const std::vector<Group>& groups = entry_of(slot, jobs_[slot].first_fitting_entry).configuration.groups;
    if (live_[slot].state != JobState::queued || groups.front().pool != pool || nodes.free_devices() == 0) continue;
    const int devices = groups.front().nodes > 0 ? groups.front().workers_per_node() : groups.front().workers;
    return static_cast<double>(nodes.unusable_for(devices)) / nodes.free_devices();
  }
  return 0;
}

const Choice& ReplayRun::entry_of(JobSlot slot, int entry) const {
  return jobs_[slot].menu.ranked[static_cast<std::size_t>(entry)];
}

/// Are there so many free devices now, on so many nodes or on those that are named, if any?
bool ReplayRun::is_free(const Configuration& configuration, const Layout& named, bool shares) const {
  if (configuration.share.is_part()) return is_part_free(configuration, named, shares);
  for (std::size_t g = 0; g < configuration.groups.size(); ++g) {
    const PoolId pool = configuration.groups[g].pool;
    if (configuration.workers_of(pool) > free_devices_[static_cast<std::size_t>(pool)]) return false;
    const Nodes& nodes = nodes_[static_cast<std::size_t>(pool)];
    if (named.empty() && !nodes.has_room_for(configuration.groups[g])) return false;
    if (named.empty()) continue;
    for (const NodeShare& share : named[g])
      if (share.devices > nodes.free_on(share.node)) return false;
  }
  return true;
}

void ReplayRun::apply(const QueueAnswer& answer, double now_s) {
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
    preempt(slot, setup_.checkpoints.preemption, now_s);
  }
  for (const Start& resize : answer.resizes) {
    require(known(resize.job, JobState::running), resize.job, "resizes a job that is not running");
    require(valid_entry(resize), resize.job, "resizes a job to an entry that its menu does not have or that never fits");
    require(resize.nodes.empty(), resize.job, "names nodes for a resize: they are chosen after the checkpoint");
    ++live_[resize.job].reconfigurations;
    live_[resize.job].resize_to = resize.entry;
    live_[resize.job].placement = resize.placement;
    live_[resize.job].shares = resize.shares;
    tell(now_s, JobEvent::resized, resize.job);
    begin_checkpoint(resize.job, live_[resize.job].clock.at(now_s), now_s);
  }
  for (const JobSlot slot : answer.rejects) {
    require(known(slot, JobState::queued), slot, "rejects a job that is not in the queue");
    --waiting_;
    tell(now_s, JobEvent::rejected, slot);
    end_job(slot, FailureReason::rejected, now_s);
  }
  for (const JobSlot slot : answer.heads) require(known(slot, JobState::queued), slot, "names a job that is not in the queue");
  for (const Start& s : answer.starts) {
    require(known(s.job, JobState::queued), s.job, "starts a job that is not in the queue");
    require(valid_entry(s), s.job, "starts a job with an entry that its menu does not have or that never fits");
    const Configuration& configuration = entry_of(s.job, s.entry).configuration;
    require(s.nodes.empty() || !configuration.share.is_part() || (configuration.share.parts == 1 && names_shared_device(s.nodes)),
            s.job, "names nodes for a job that needs parts of devices, and not the one device that it shares");
    if (!s.nodes.empty())
      ask_policy("queue", &jobs_[s.job].job, now_s, [&] { validate_layout(cluster_, configuration, s.nodes); });
    require(is_free(configuration, s.nodes, s.shares), s.job,
            configuration.needs_nodes() ? "starts a job on devices that are not free, or not on as many nodes as it needs"
                                        : "starts a job on devices that are not free");
    --waiting_;
    start(s, now_s);
  }
  if (answer.wake_at_s != kNever) {
    if (!(answer.wake_at_s > now_s))
      throw PolicyError(fmt::format("policy \"{}\", queue, at {:.6f} s: asks to be woken in the past, at {:.6f} s",
                                    setup_.policy.name, now_s, answer.wake_at_s));
    events_.cancel(wake_);
    wake_due_s_ = on_date_grid(answer.wake_at_s);
    wake_ = events_.push({wake_due_s_, EventClass::timer, kWake});
  }
}

bool ReplayRun::more_will_arrive() const {
  return std::any_of(next_of_source_.begin(), next_of_source_.end(), [](const auto& job) { return job.has_value(); });
}

void ReplayRun::finish(double now_s) {
  if (active_ > 0) end_waiting(now_s);
  meter_.close(totals_.last_end_s);
  meter_.check_balance(totals_.last_end_s);
  books_.check_totals(meter_.totals(), meter_.parameter_servers_usd());
  check(totals_.finished + totals_.failed == totals_.jobs, "not every job ended in exactly one final state", now_s);
  if (setup_.costs.billing == Billing::pool) share_idle_money();
  totals_.pools = meter_.totals();
  totals_.parameter_servers_usd = meter_.parameter_servers_usd();
}

void ReplayRun::handle(const Event& event) {
  now_s_ = event.date_s;
  const bool is_wish = event.event_class == EventClass::timer && event.subject == kWake && event.date_s == wake_due_s_;
  if (!is_wish)
    wakes_in_row_ = 0;
  else if (wakes_in_row_++ == 0)
    wakes_since_s_ = event.date_s;
  if (event.event_class == EventClass::arrival) {
    if (totals_.jobs == 0) {
      totals_.first_submit_s = event.date_s;
      meter_.open(event.date_s);
    }
    arrive(event.subject, event.date_s);
  } else if (event.event_class == EventClass::failure) {
    on_node_event(event.subject, event.date_s);
  } else if (event.subject == kWake) {
    if (is_wish) wake_due_s_ = kNever;
  } else {
    const JobSlot slot = event.subject / kTimers;
    switch (static_cast<JobTimer>(event.subject % kTimers)) {
      case JobTimer::phase_end:
        on_phase_end(slot, event.date_s);
        break;
      case JobTimer::deadline:
        stop(slot, FailureReason::deadline_stop, event.date_s);
        break;
      case JobTimer::walltime:
        on_walltime(slot, event.date_s);
        break;
      case JobTimer::measured:
        live_[slot].measured = {};
        let_go_of(slot, event.date_s);
        break;
      case JobTimer::pause_end:
        end_pause(slot, event.date_s);
        break;
    }
  }
}

ReplayTotals ReplayRun::run(void (*drive)(EventQueue&, EventHandler&)) {
  for (std::size_t s = 0; s < setup_.sources.size(); ++s) pull(s);
  for (std::size_t stream = 0; node_watch_ && stream < node_watch_->events.streams(); ++stream) push_node_event(stream);
  drive(events_, *this);
  finish(now_s_);
  return totals_;
}

ReplayTotals replay(const ReplaySetup& setup, void (*drive)(EventQueue&, EventHandler&)) {
  return std::make_unique<ReplayRun>(setup)->run(drive);
}

}  // namespace rehearse::sim
