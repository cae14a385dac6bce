#include "experiments/studies/schedule_log.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rehearse::scenarios {

namespace {

using Kind = ScheduleRow::Kind;

int devices_of(const ScheduleRow& row) {
  int devices = 0;
  for (const sim::NodeShare& share : row.nodes) devices += share.devices;
  return devices;
}

/// A stretch of waiting, in numbers of rows; `pool` is the one that it ends in.
struct Waiting {
  std::size_t from = 0, to = 0;
  double priority = 0;
  sim::PoolId pool = -1;
};

std::vector<Waiting> waitings_in(const std::vector<ScheduleRow>& rows) {
  std::vector<Waiting> all;
  std::map<std::string, std::size_t> since;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ScheduleRow& row = rows[i];
    if (row.kind == Kind::waits || row.kind == Kind::lets_go) since[row.job] = i;
    if (row.kind == Kind::takes)
      if (const auto begun = since.find(row.job); begun != since.end())
        all.push_back({.from = begun->second, .to = i, .priority = row.priority, .pool = row.pool});
    if (row.kind == Kind::takes || row.kind == Kind::ends) since.erase(row.job);
  }
  return all;
}

int inversions_in(const std::vector<ScheduleRow>& rows) {
  const std::vector<Waiting> waitings = waitings_in(rows);
  int inversions = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind != Kind::takes) continue;
    inversions += std::any_of(waitings.begin(), waitings.end(), [&](const Waiting& w) {
      // One who takes devices at the same date was decided for together with it.
      return w.from < i && i < w.to && rows[w.to].time_s > rows[i].time_s && w.pool == rows[i].pool &&
             w.priority > rows[i].priority;
    });
  }
  return inversions;
}

}  // namespace

void ScheduleLog::on_job(const sim::JobRecord& record) {
  ended_.push_back({.user = record.job->user,
                    .submit_s = record.job->submit_s,
                    .start_s = record.start_s,
                    .end_s = record.end_s,
                    .finished = record.state == sim::JobState::finished,
                    .preemptions = record.preemptions});
}

void ScheduleLog::on_event(double time_s, sim::JobEvent event, const sim::Job& job, const sim::Configuration*) {
  if (event == sim::JobEvent::submitted)
    rows_.push_back({.kind = Kind::waits, .time_s = time_s, .job = job.name, .priority = job.priority});
  if (event == sim::JobEvent::finished || event == sim::JobEvent::failed)
    rows_.push_back({.kind = Kind::ends, .time_s = time_s, .job = job.name, .priority = job.priority});
}

void ScheduleLog::on_devices(double time_s, bool taken, const sim::Job& job, const sim::Configuration& configuration,
                             const sim::Layout& layout) {
  const sim::Group& group = configuration.groups.front();
  rows_.push_back({.kind = taken ? Kind::takes : Kind::lets_go,
                   .time_s = time_s,
                   .job = job.name,
                   .priority = job.priority,
                   .pool = group.pool,
                   .nodes = layout.front()});
  if (job.profile != nullptr && group.batch_per_worker > 0)
    rows_.back().memory_bytes = models_.of(*job.profile).memory.bytes(group.batch_per_worker, job.profile->precision);
}

ScheduleFaults faults_in(const std::vector<ScheduleRow>& rows, const sim::Cluster& cluster) {
  ScheduleFaults faults{.priority_inversions = inversions_in(rows)};
  std::map<std::pair<sim::PoolId, int>, int> taken;  // by pool and node
  for (const ScheduleRow& row : rows) {
    if (row.kind != Kind::takes && row.kind != Kind::lets_go) continue;
    bool overrun = false;
    for (const sim::NodeShare& share : row.nodes) {
      int& devices = taken[{row.pool, share.node}];
      devices += row.kind == Kind::takes ? share.devices : -share.devices;
      overrun |= devices > sim::workers_per_node(cluster, row.pool) || devices < 0;
    }
    faults.device_overruns += overrun ? 1 : 0;
    if (row.kind == Kind::takes &&
        row.memory_bytes > workloads::kUsableMemory * sim::worker_device(cluster, row.pool).memory_bytes)
      ++faults.memory_overruns;
  }
  return faults;
}

double held_fraction(const std::vector<ScheduleRow>& rows, const sim::Cluster& cluster, double from_s, double to_s) {
  double devices = 0, held = 0;
  for (std::size_t p = 0; p < cluster.pools.size(); ++p)
    devices += cluster.pools[p].nodes * sim::workers_per_node(cluster, static_cast<sim::PoolId>(p));
  const auto left = [&](double time_s) { return to_s - std::clamp(time_s, from_s, to_s); };
  for (const ScheduleRow& row : rows) {
    if (row.kind == Kind::takes) held += devices_of(row) * left(row.time_s);
    if (row.kind == Kind::lets_go) held -= devices_of(row) * left(row.time_s);
  }
  return to_s > from_s ? held / (devices * (to_s - from_s)) : 0;
}

}  // namespace rehearse::scenarios
