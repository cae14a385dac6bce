#include "experiments/run/retiming.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "experiments/run/map_processes.hpp"
#include "sim/base/child_process.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/output_file.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::scenarios {

namespace {

constexpr const char* kFile = "timed-replicas.txt";

/// Distinct lines of all runs.
std::vector<std::string> lines_of(const std::vector<RunTask>& tasks) {
  std::vector<std::string> lines;
  std::set<std::string> seen;
  for (const RunTask& task : tasks) {
    std::ifstream in(task.folder.file(kFile));
    for (std::string line; lines.size() < kMostRetimed && std::getline(in, line);)
      if (seen.insert(line).second) lines.push_back(line);
  }
  return lines;
}

void check_one(const Scenario& scenario, const workloads::TimedReplica& timed) {
  const sim::Profile& profile = scenario.profiles.profiles()[static_cast<std::size_t>(timed.profile)];
  const workloads::ProfileModel& model = scenario.profile_models.of(profile);
  const workloads::ReplicaSetting setting = workloads::setting_of(timed, model, scenario.cluster, profile.precision);
  const double again_s =
      sim::seconds_of(workloads::time_replica(setting, timed.device_of_op, sim::make_reference_timer).makespan);
  const double fast_s = sim::seconds_of(timed.makespan);
  sim::check(std::abs(again_s - fast_s) <= kTimersAgree * again_s,
             fmt::format("the reference timer takes {} s for a step of {} on {} GPUs, the fast one {} s", again_s, model.model,
                         timed.gpus, fast_s));
}

}  // namespace

std::string to_text(const workloads::TimedReplica& t) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", t.profile, t.pool, t.gpus, t.batch, t.time_factor, t.power_limit_w, t.makespan,
                     t.device_of_op.size(), fmt::join(t.device_of_op, " "));
}

workloads::TimedReplica timed_replica(const std::string& line) {
  std::istringstream in(line);
  workloads::TimedReplica t;
  std::size_t ops = 0;
  in >> t.profile >> t.pool >> t.gpus >> t.batch >> t.time_factor >> t.power_limit_w >> t.makespan >> ops;
  for (std::size_t i = 0; i < ops && in; ++i) in >> t.device_of_op.emplace_back();
  sim::check(!in.fail(), "a run's timed steps are whole");
  return t;
}

void time_again(const Scenario& scenario, const workloads::TimedReplica& timed) {
  sim::in_child([&] {
    check_one(scenario, timed);
    return std::string();
  });
}

void write_timed_replicas(const sim::OwnFolder& folder, const std::vector<workloads::TimedReplica>& timed) {
  if (timed.empty()) return;
  auto out = sim::OutputFile::in_place(folder.file(kFile));
  for (const workloads::TimedReplica& one : timed) out.write(to_text(one) + '\n');
  out.close();
}

void time_again(const Scenario& scenario, const std::vector<RunTask>& tasks, int processes, const ResultsFolder& folder) {
  const std::vector<std::string> lines = lines_of(tasks);
  if (lines.empty()) return;
  map_processes(static_cast<int>(lines.size()), processes, folder, [&](int i) {
    check_one(scenario, timed_replica(lines[static_cast<std::size_t>(i)]));
    return std::string();
  });
}

}  // namespace rehearse::scenarios
