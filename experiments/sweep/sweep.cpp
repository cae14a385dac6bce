#include "experiments/sweep/sweep.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <thread>

#include "experiments/run/process_pool.hpp"
#include "experiments/run/retiming.hpp"
#include "experiments/run/run.hpp"
#include "experiments/run/run_one.hpp"
#include "experiments/sweep/findings.hpp"
#include "sim/base/child_process.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"

namespace rehearse::scenarios {

SweepSummary run_sweep(const SweepPlan& plan, const SweepOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  SweepSummary summary;
  if (options.retry) summary.repaired = SweepDatabase::repair(options.database);
  SweepDatabase database(options.database, options.is_local);
  if (!options.scenario_path.empty()) database.take_for(options.scenario_path);
  std::vector<PlannedRun> missing;
  {
    const std::vector<PlannedRun> all = plan.runs();
    const std::string program_before = database.program();
    database.set_plan(plan, all);
    if (options.retry) database.forget_failed();
    const std::set<std::string> there = database.keys();
    summary.is_other_program = !there.empty() && program_before != SweepPlan::program();
    std::set<std::string> seen;
    for (const PlannedRun& run : all) {
      if (!seen.insert(run.key).second) continue;
      if (there.contains(run.key))
        ++summary.there;
      else
        missing.push_back(run);
    }
    summary.planned = all.size();
    summary.distinct = seen.size();
  }
  const std::size_t wanted = missing.size();
  summary.interrupted = !options.launch(plan, std::move(missing), [&](std::span<const SweepRow> rows) {
    database.add(rows);
    for (const SweepRow& row : rows) {
      summary.run_s += row.run_s;
      summary.cpu_s += row.cpu_s;
    }
    summary.ran += rows.size();
    options.on_progress(summary.ran, wanted);
  });
  summary.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  summary.counts = database.counts();
  if (summary.interrupted) return summary;
  std::size_t rows = 0;
  for (const SweepDatabase::Count& count : summary.counts) rows += count.runs;
  if (rows != summary.planned)
    throw DamagedDatabase(options.database, fmt::format("a row for each of {} planned runs", summary.planned),
                          fmt::format("{}", rows));
  if (!options.csv.empty()) database.write_csv(options.csv);
  summary.best = best_by_point(plan, database);
  if (!options.page.empty()) summary.figures_left_out = write_sweep_page(options.page, plan, database, summary.best);
  return summary;
}

namespace {

double seconds_now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Does runs one after the other, in a process of its own.
class Worker {
 public:
  explicit Worker(const SweepPlan& plan) : plan_(plan) {}

  SweepRow row(const PlannedRun& run, const TellProgress& tell) {
    SweepRow row{.key = run.key, .reason = {}, .metrics = {}};
    const auto ends = [&](RunStatus status, const std::string& reason) {
      row.status = status;
      row.reason.clear();
      for (const char* c = reason.c_str(); *c != '\0'; ++c) row.reason += *c == '\n' ? "; " : std::string(1, *c);
      row.metrics.clear();
      if (row.reason.empty()) row.reason = "no reason was given";
    };
    try {
      load(run.point);
      measure(run, row, tell);
    } catch (const sim::PolicyError& error) {
      ends(RunStatus::failed, error.what());
    } catch (const sim::InputError& error) {
      ends(RunStatus::invalid, error.what());
    } catch (const sim::MemoryExhausted& error) {
      ends(RunStatus::failed, error.what());
    } catch (const std::bad_alloc&) {
      ends(RunStatus::failed, sim::memory_exhausted_text());
    } catch (const std::exception& error) {
      ends(RunStatus::bug, error.what());
    }
    return row;
  }

 private:
  void load(std::size_t point) {
    if (scenario_ && loaded_ == point) return;
    scenario_.reset();
    timed_again_.clear();
    scenario_ = plan_.load(point);
    loaded_ = point;
  }

  void measure(const PlannedRun& run, SweepRow& row, const TellProgress& tell) {
    const RunTask task{.policy = static_cast<std::size_t>(run.policy), .repetition = run.repetition, .folder = {}};
    const double began_s = seconds_now(CLOCK_MONOTONIC), cpu_s = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
    // The plain loop's results are those of SimGrid's to the bit, and it can be run again in a process.
    const Replayed replayed = replay_one(*scenario_, task, tell, sim::run_plain);
    for (const workloads::TimedReplica& timed : replayed.timed)
      if (timed_again_.size() < kMostRetimed && timed_again_.insert(to_text(timed)).second) time_again(*scenario_, timed);
    row.run_s = seconds_now(CLOCK_MONOTONIC) - began_s;
    row.cpu_s = seconds_now(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
    row.decision_time_s = replayed.outcome.metrics.decision_time_s;
    for (const report::MetricField& field : report::metric_fields()) row.metrics.push_back(replayed.outcome.metrics.*field.value);
  }

  const SweepPlan& plan_;
  std::unique_ptr<Scenario> scenario_;
  std::size_t loaded_ = 0;
  std::set<std::string> timed_again_;
};

/// Lines that children write, each at once, as it is shorter than PIPE_BUF.
class LinePipe {
 public:
  LinePipe() { sim::never_wait(pipe_.reading()); }
  int reading() const { return pipe_.reading(); }

  bool write(const std::string& line) const {
    ssize_t written = -1;
    do written = ::write(pipe_.writing(), line.data(), line.size());
    while (written < 0 && errno == EINTR);
    return written == static_cast<ssize_t>(line.size());
  }
  /// The rows that are there.
  std::vector<SweepRow> rows() {
    char buffer[1 << 16];
    for (ssize_t got = 0; (got = ::read(pipe_.reading(), buffer, sizeof buffer)) > 0;)
      text_.append(buffer, static_cast<std::size_t>(got));
    std::vector<SweepRow> rows;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text_.find('\n', begin)) != text_.npos; begin = end + 1) {
      auto row = row_of(std::string_view(text_).substr(begin, end + 1 - begin));
      sim::check(row.has_value(), "a run's row came in pieces");
      rows.push_back(std::move(*row));
    }
    text_.erase(0, begin);
    return rows;
  }

 private:
  sim::Pipe pipe_;
  std::string text_;
};

using Runs = std::span<const PlannedRun>;

/// Runs that one child does: few enough that the last ones end together, enough that a child costs little beside them.
std::vector<Runs> shares_of(const std::vector<PlannedRun>& runs, int processes) {
  constexpr std::size_t kShares = 8, kMostInShare = 64;
  const std::size_t size =
      std::clamp<std::size_t>(runs.size() / (kShares * static_cast<std::size_t>(processes)), 1, kMostInShare);
  std::vector<Runs> shares;
  for (std::size_t begin = 0; begin < runs.size(); begin += size)
    shares.push_back(Runs(runs).subspan(begin, std::min(size, runs.size() - begin)));
  return shares;
}

class LocalSweep {
 public:
  LocalSweep(const SweepPlan& plan, const KeepRows& keep, const TellUnderWay& tell) : plan_(plan), keep_(keep), tell_(tell) {}

  /// Does what it can; false when interrupted.
  bool run(const std::vector<PlannedRun>& runs, int processes) {
    const std::vector<Runs> shares = shares_of(runs, processes);
    under_way_.clear();
    return run_processes({.tasks = static_cast<int>(shares.size()),
                          .processes = processes,
                          .work =
                              [&](int share, const TellProgress& tell) {
                                Worker worker(plan_);
                                for (const PlannedRun& run : shares[static_cast<std::size_t>(share)])
                                  if (!pipe_.write(to_line(worker.row(run, tell)))) return 1;
                                return 0;
                              },
                          .on_end =
                              [&](const ChildEnd& end) {
                                keep_what_came();
                                std::erase(under_way_, end.task);
                                if (end.exit_status == 0 || is_told_to_stop(end.signal)) return;
                                // Who kills the whole sweep may begin with its children: then this process never wakes.
                                if (end.signal == SIGKILL) std::this_thread::sleep_for(std::chrono::seconds(1));
                                for (const PlannedRun& run : shares[static_cast<std::size_t>(end.task)])
                                  if (!done_.contains(run.key)) return keep(killed(run, end));
                              },
                          .on_progress =
                              [&](int share, const sim::ReplayProgress& progress) {
                                tell_of(share, shares[static_cast<std::size_t>(share)], progress.time_s);
                              },
                          .also_fd = pipe_.reading(),
                          .on_also = [&] { keep_what_came(); }});
  }

  void keep_what_came() {
    const std::vector<SweepRow> rows = pipe_.rows();
    if (!rows.empty()) keep(rows);
  }
  bool is_done(const PlannedRun& run) const { return done_.contains(run.key); }

 private:
  /// A child tells of its runs one after the other: of the first whose row has not come.
  void tell_of(int share, Runs runs, double time_s) {
    if (!tell_) return;
    if (std::find(under_way_.begin(), under_way_.end(), share) == under_way_.end()) under_way_.push_back(share);
    if (under_way_.front() != share) return;
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const PlannedRun& r) { return !is_done(r); });
    if (run != runs.end()) tell_(*run, time_s, under_way_.size() - 1);
  }

  /// Such an end says nothing about the run, which is done again.
  static bool is_told_to_stop(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

  static std::vector<SweepRow> killed(const PlannedRun& run, const ChildEnd& end) {
    return {{.key = run.key,
             .status = RunStatus::killed,
             .reason = end.signal != 0 ? fmt::format("killed by signal {} ({})", end.signal, strsignal(end.signal))
                                       : fmt::format("ended with status {} and no result", end.exit_status),
             .metrics = {}}};
  }
  void keep(const std::vector<SweepRow>& rows) {
    keep_(rows);
    for (const SweepRow& row : rows) done_.insert(row.key);
  }

  const SweepPlan& plan_;
  const KeepRows& keep_;
  const TellUnderWay& tell_;
  LinePipe pipe_;
  std::set<std::string> done_;
  std::vector<int> under_way_;  // shares, in the order in which they were first heard of
};

}  // namespace

bool run_here(const SweepPlan& plan, std::vector<PlannedRun> runs, int processes, const KeepRows& keep,
              const TellUnderWay& tell) {
  processes = processes_of({.out = {}, .processes = processes});
  LocalSweep sweep(plan, keep, tell);
  while (!runs.empty()) {
    const bool whole = sweep.run(runs, processes);
    sweep.keep_what_came();
    if (!whole) return false;
    std::erase_if(runs, [&](const PlannedRun& run) { return sweep.is_done(run); });
  }
  return true;
}

}  // namespace rehearse::scenarios
