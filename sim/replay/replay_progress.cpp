// Whether jobs get any further. A queue that has itself woken in rounds, or that stops jobs as soon as they run, decides for
// ever; such a run ends with what waits for what.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/replay/replay_run.hpp"

namespace rehearse::sim {

namespace {

/// Dates of decisions between two looks: enough for any queue that tries one thing after the other, a matter of seconds to
/// decide.
constexpr std::uint64_t kDatesBetweenLooks = 10'000;
/// Without progress, whatever may still come: 19 years of rounds of a minute.
constexpr std::uint64_t kMostDates = 10'000'000;
/// How many of them a date is waited for that the queue itself has named: seconds.
constexpr double kMostDatesToOwn = 1e6;
/// Fewer of them between two looks are rare.
constexpr double kFewOwnDates = 100;
constexpr std::size_t kNamed = 3;  // of the jobs that wait
/// Wakes in a row, with nothing between, that no day would end with: shorter apart than this in the mean.
constexpr std::uint64_t kMostIdleWakes = 10'000;
constexpr double kShortestRound_s = 1e-3;

bool changes_after(const std::optional<StepSeries>& series, double now_s) {
  return series && series->steps().back().time_s > now_s;
}

bool holds_devices(JobState state) {
  return state == JobState::starting || state == JobState::running || state == JobState::checkpointing;
}

}  // namespace

/// Of its work, in the units of its kind. What a job does in its present stage counts, whether it keeps it or not: the furthest
/// that it has ever been is compared with itself.
double ReplayRun::work_done(JobSlot slot, double now_s) const {
  const LiveJob& live = live_[slot];
  const Progress now = live.state == JobState::running || live.state == JobState::checkpointing
                           ? progress_at(inputs_of(slot), live.course, setup_.models, reading_of(slot, now_s).done_s)
                           : live.progress;
  return jobs_[slot].job.work == Work::train ? now.epochs_trained : now.work_done;
}

bool ReplayRun::anyone_got_further(double now_s) {
  bool any = false;
  for (JobSlot slot = 0; slot < live_.size(); ++slot) {
    LiveJob& live = live_[slot];
    if (!live.in_use || live.state >= JobState::finished) continue;
    const double done = work_done(slot, now_s);
    any = any || done > live.furthest;
    live.furthest = std::max(live.furthest, done);
  }
  return any;
}

/// A job that nobody has disturbed for so long: its start-up, its training or its checkpoint will end.
bool ReplayRun::anyone_holds_since(double date_s) const {
  return std::any_of(live_.begin(), live_.end(), [date_s](const LiveJob& live) {
    return live.in_use && holds_devices(live.state) && live.stage_start_s <= date_s;
  });
}

/// Those that will come back.
int ReplayRun::nodes_away() const {
  int away = node_watch_ ? -node_watch_->gone : 0;
  for (const Nodes& nodes : nodes_) away += nodes.nodes_out();
  return away;
}

/// Arrivals, nodes that come back, prices that change, deadlines that end a job: all of them are worth waiting for. That a node
/// may fail where nobody runs is not, nor that it comes back from that when all were there at some date since the last look:
/// nobody got further.
bool ReplayRun::may_still_change(double now_s) const {
  return more_will_arrive() || (!all_were_there_ && nodes_away() > 0) || changes_after(cluster_.carbon_g_per_kwh, now_s) ||
         std::any_of(cluster_.pools.begin(), cluster_.pools.end(),
                     [now_s](const Pool& pool) { return changes_after(pool.prices_usd_per_hour, now_s); }) ||
         std::any_of(live_.begin(), live_.end(), [](const LiveJob& live) {
           return live.in_use && live.state < JobState::finished &&
                  (live.deadline.slot != EventHandle::kNone || live.measured.slot != EventHandle::kNone ||
                   live.pause_end.slot != EventHandle::kNone);
         });
}

/// The next date that the queue has named, of those at which it may start somebody.
double ReplayRun::own_date_s() const { return answer_.acts_at_s != kNever ? answer_.acts_at_s : wake_due_s_; }

bool ReplayRun::anyone_began_since(double date_s) const {
  return std::any_of(live_.begin(), live_.end(),
                     [date_s](const LiveJob& live) { return live.in_use && live.stage_start_s > date_s; });
}

/// Why nobody gets any further though nothing else will change; empty: for no reason that the queue has told.
std::string ReplayRun::why_nobody_does(double since_s, bool stands) const {
  if (anyone_began_since(since_s)) return ": whoever is started is stopped before it gets any further";
  if (stands) return fmt::format(": the queue waits until {:.6f} s", own_date_s());
  if (waiting_ > 0 && too_few_nodes()) return ": too few nodes are there for those that wait";
  return "";
}

/// A wake-up that is worked out a little wrong comes at every tick of the grid, and a day has 9e10 of them.
void ReplayRun::look_at_wakes(double now_s) {
  if (wakes_in_row_ < kMostIdleWakes) return;
  const double every_s = (now_s - wakes_since_s_) / static_cast<double>(std::exchange(wakes_in_row_, 0) - 1);
  if (every_s < kShortestRound_s)
    throw PolicyError(fmt::format(
        "policy \"{}\", queue, at {:.6f} s: has itself woken every {:.3g} s, {} times in a row with nothing else between: "
        "wake_at_s is the next date at which its answer may change (dates are multiples of 2^-20 s, rounded up)",
        setup_.policy.name, now_s, every_s, kMostIdleWakes));
}

void ReplayRun::look_for_progress(double now_s) {
  if (active_ == 0) {  // money counts up to the last end, and nobody is left for whom the queue could be woken
    if (!more_will_arrive()) events_.cancel(wake_);
    return;
  }
  own_date_came_ = own_date_came_ || last_own_date_s_ <= now_s;
  last_own_date_s_ = own_date_s();
  if (dates_without_end_++ == 0) {
    looked_s_ = now_s;
    looked_own_date_s_ = own_date_s();
    was_hopeless_ = all_were_there_ = false;
  }
  all_were_there_ = all_were_there_ || nodes_away() == 0;
  if (dates_without_end_ % kDatesBetweenLooks != 0) return;
  const double since_s = std::exchange(looked_s_, now_s);
  if (anyone_got_further(now_s)) {
    dates_without_end_ = 0;
    return;
  }
  // A date that the queue has named all the while will come, as will the next one after a rare date that has; one that moves
  // along may never.
  const double own_s = own_date_s();
  const bool next_of_rare = std::exchange(own_date_came_, false) && own_s - now_s > (now_s - since_s) / kFewOwnDates;
  const bool stands = own_s != kNever && own_s > now_s && (own_s == std::exchange(looked_own_date_s_, own_s) || next_of_rare);
  const bool is_near = stands && (own_s - now_s) / (now_s - since_s) * kDatesBetweenLooks < kMostDatesToOwn;
  // Each brings a job nearer to its last: what nodes do to it is not its queue's doing.
  const bool restarted = std::exchange(looked_restarts_, restarts_) != restarts_;
  const bool hopeless = !anyone_holds_since(since_s) && !may_still_change(now_s) && !is_near && !restarted;
  all_were_there_ = false;
  // Twice: what was waited for may have come just now.
  const bool ends = (hopeless && was_hopeless_) || dates_without_end_ >= kMostDates;
  was_hopeless_ = hopeless;
  if (!ends) return;
  const std::string why = why_nobody_does(since_s, stands);
  throw PolicyError(fmt::format(
      "policy \"{}\", queue, at {:.6f} s: since {:.6f} s no job has come, ended or got any further{}, and {} wait{}: {}",
      setup_.policy.name, now_s, since_s, why, active_, why.empty() ? " forever" : "", what_waits()));
}

/// Does every job wait for nodes that are gone for good?
bool ReplayRun::waits_for_lost_nodes() const { return node_watch_ && node_watch_->gone > 0 && holding_ == 0 && too_few_nodes(); }

/// Is no job in the queue that the nodes which are there could hold, were they empty?
bool ReplayRun::too_few_nodes() const {
  for (JobSlot slot = 0; slot < live_.size(); ++slot) {
    if (!live_[slot].in_use || live_[slot].state != JobState::queued) continue;
    for (const Choice& choice : jobs_[slot].menu.ranked) {
      const Configuration& c = choice.configuration;
      if (could_ever_fit(cluster_, c) && std::all_of(c.groups.begin(), c.groups.end(), [&](const Group& group) {
            const Nodes& nodes = nodes_[static_cast<std::size_t>(group.pool)];
            const long there = nodes.node_count() - nodes.nodes_out();
            return c.workers_of(group.pool) <= there * nodes.devices_per_node() && group.nodes <= there;
          }))
        return false;
    }
  }
  return true;
}

std::string ReplayRun::what_waits(JobSlot slot) const {
  const QueueJob& queued = jobs_[slot];
  const LiveJob& live = live_[slot];
  if (live.state == JobState::held && live.pause_end.slot != EventHandle::kNone)
    return fmt::format("job \"{}\" for the end of its pause", queued.job.name);
  if (live.state == JobState::held && queued.job.after.empty())
    return fmt::format("job \"{}\" for what is measured for it", queued.job.name);
  if (live.state == JobState::held)
    return fmt::format("job \"{}\" for job \"{}\"", queued.job.name, fmt::join(queued.job.after, "\", \""));
  const bool holds = holds_devices(live.state);
  std::string text = fmt::format("job \"{}\" ", queued.job.name);
  if (holds) text += fmt::format("({}, preempted {} times) ", name_of(live.state), live.preemptions);
  const Configuration& c = entry_of(slot, holds ? live.entry : queued.first_fitting_entry).configuration;
  for (const Group& group : c.groups) {
    const Nodes& nodes = nodes_[static_cast<std::size_t>(group.pool)];
    text += fmt::format("{} {}{} of pool \"{}\"", &group == &c.groups.front() ? (holds ? "with" : "for") : " and", group.workers,
                        group.nodes > 0 ? fmt::format(" on {} nodes", group.nodes) : std::string(),
                        cluster_.pools[static_cast<std::size_t>(group.pool)].name);
    if (!holds)
      text += fmt::format(" ({} of {} free, {} of {} nodes away)", nodes.free_devices(), nodes.capacity(), nodes.nodes_out(),
                          nodes.node_count());
  }
  return text;
}

/// The first of them in order of arrival.
std::string ReplayRun::what_waits() const {
  std::vector<JobSlot> waiting;
  for (JobSlot slot = 0; slot < live_.size(); ++slot)
    if (live_[slot].in_use && live_[slot].state < JobState::finished) waiting.push_back(slot);
  std::sort(waiting.begin(), waiting.end(), [this](JobSlot a, JobSlot b) { return jobs_[a].number < jobs_[b].number; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, waiting.size()); ++i) text += (i > 0 ? ", " : "") + what_waits(waiting[i]);
  if (waiting.size() > kNamed) text += fmt::format(" and {} more", waiting.size() - kNamed);
  return text;
}

}  // namespace rehearse::sim
