// How far a run is, on stderr: a bar, or a board of all runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/replay/records.hpp"

namespace rehearse::scenarios {

// A progress bar on stderr for long runs: silent in the first second, and where it is not wanted.

class ProgressBar {
 public:
  ProgressBar(bool wanted, std::size_t tasks, std::size_t jobs_a_task);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void update(std::size_t task, std::uint64_t jobs_done);
  void ended(std::size_t task);

 private:
  void draw();
  bool wanted_;
  bool drawn_ = false;
  std::vector<std::uint64_t> done_;
  std::size_t jobs_a_task_;
  std::size_t ended_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// What each run of a scenario is doing, while it does it: a board on stderr that is drawn anew a few times a second.

/// One run's line.
struct WatchedRun {
  std::string name;
  sim::ReplayProgress progress;
  bool told = false, ended = false;
};

/// The board's lines: all runs under way, then the last that ended, then those that wait, at most so many. `jobs` a run: of the
/// whole scenario.
std::string board_text(const std::vector<WatchedRun>& runs, std::size_t jobs, std::size_t most_lines);

class WatchBoard {
 public:
  WatchBoard(bool wanted, std::size_t tasks, std::size_t jobs_a_task, const std::function<std::string(std::size_t task)>& name);
  void update(std::size_t task, const sim::ReplayProgress& progress);
  /// The board stays after the last.
  void ended(std::size_t task);

 private:
  void draw(bool at_once);
  bool wanted_;
  bool terminal_;  // where lines can be drawn over
  std::size_t jobs_;
  std::vector<WatchedRun> runs_;
  std::size_t ended_ = 0;
  std::size_t drawn_lines_ = 0;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace rehearse::scenarios
