// How far a command is, on stderr: a line, or a board of all runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/records.hpp"
#include "sim/replay/replay.hpp"

namespace rehearse::scenarios {

// One line: what is being done, how much of it is done, how long that took and will take.

struct ProgressState {
  std::string what;      ///< that is under way; may be empty
  std::string one_done;  ///< what is counted: "run"
  double done = 0, total = 0;
  double part = 0;  ///< of all the work, in [0, 1]: a run that is half done counts
};

/// What is left, in seconds; NaN where nothing can be said yet.
struct TimeLeft {
  double seconds = std::numeric_limits<double>::quiet_NaN();
  bool is_least = false;  ///< some of the work is of a kind of which nothing has been done yet
};

/// On a terminal with a bar.
std::string progress_text(const ProgressState& state, double elapsed_s, const TimeLeft& left, bool terminal);

/// How long the rest takes. Tasks begin in their order, so many at once. Those of one kind take alike, a policy's repetitions
/// say; those of another may take a hundred times as long.
class TimeEstimate {
 public:
  struct Setup {
    std::vector<std::size_t> kinds;  ///< of each task
    std::size_t parts_a_task = 1;
    std::size_t at_once = 1;
    double begun_s = 0;  ///< by the clock that now_s is of
  };
  explicit TimeEstimate(Setup setup);
  /// Done by an earlier start, before the first call of the others.
  void kept(std::size_t task);
  /// `now_s` never decreases.
  void update(std::size_t task, std::uint64_t parts_done, double now_s);
  void ended(std::size_t task, double now_s);
  TimeLeft left() const;

 private:
  struct Kind {
    double busy_s = 0;  ///< of all its tasks together
    double done = 0, left = 0;
  };
  void pass(double now_s);
  void set_done(std::size_t task, double parts);
  Setup setup_;
  std::vector<Kind> kinds_;
  std::vector<double> done_;
  std::vector<char> over_;  // ended or kept
  std::vector<std::size_t> running_;
  std::size_t next_ = 0;
  double now_s_;
};

/// One that is under way, how far its simulated time is (NaN: it has none, or it is not known), and how many others are.
std::string under_way_text(const std::string& name, double time_s, std::size_t others);

/// Whether stderr is a terminal that takes back what it has drawn.
bool redraws();

/// On a terminal one line that is drawn over, after the first second; elsewhere a plain line every half minute. Colour is none of
/// its business, nor NO_COLOR.
class ProgressLine {
 public:
  using Clock = std::function<double()>;  ///< seconds
  explicit ProgressLine(bool wanted);
  ProgressLine(std::FILE* to, bool terminal, Clock clock);
  /// Clears what it drew on a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// What is left as all the work so far has taken, or as `left` says.
  void show(const ProgressState& state, const std::optional<TimeLeft>& left = std::nullopt);
  double now_s() const { return clock_(); }

 private:
  std::FILE* to_;  // null: nothing is wanted
  bool terminal_;
  Clock clock_;
  double begun_s_, next_s_;
  double first_part_ = -1;  // at the first call: of an earlier start, say
  bool drawn_ = false;
};

struct ProgressSetup {
  bool wanted = false;
  std::size_t tasks = 1;
  std::string one_task = "run";
  std::size_t parts_a_task = 1;  ///< jobs of a run, say
  std::string one_part = "job";
  std::function<std::string(std::size_t task)> name = {};  ///< may be empty
  std::function<std::size_t(std::size_t task)> kind = {};  ///< small numbers; empty: all tasks take alike
  std::size_t at_once = 1;
};

/// Several tasks, some of them at once, each of several parts. Of one task the parts are counted.
class ProgressBar {
 public:
  explicit ProgressBar(ProgressSetup setup);
  /// `time_s`: how far its simulated time is; NaN where it has none.
  void update(std::size_t task, std::uint64_t parts_done, double time_s = std::numeric_limits<double>::quiet_NaN());
  void ended(std::size_t task);
  /// As ended, of an earlier start; before all others.
  void kept(std::size_t task);

 private:
  void draw();
  ProgressSetup setup_;
  ProgressLine line_;
  TimeEstimate estimate_;
  std::vector<std::uint64_t> done_;
  double time_s_ = std::numeric_limits<double>::quiet_NaN();  // of the first under way
  std::vector<std::size_t> under_way_;                        // in the order in which they were first heard of
  std::size_t ended_ = 0;
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

// Who is at one answer for long: strategies in C++ have no time limit, and searches may take minutes.

/// What forked children are asked, in memory that they share with their parent, which looks at it.
class SlowAnswers {
 public:
  struct Setup {
    std::size_t tasks = 0;
    double after_s = 30;  ///< of wall time; told again after twice as long, and so on
    std::function<std::string(std::size_t task)> name;
    std::function<void(const std::string&)> tell;
    ProgressLine::Clock clock = {};  ///< empty: the steady one
  };
  explicit SlowAnswers(Setup setup);
  ~SlowAnswers();
  SlowAnswers(const SlowAnswers&) = delete;
  SlowAnswers& operator=(const SlowAnswers&) = delete;
  /// That the task's replay shows its questions in; in the child that it runs in.
  sim::AtWork* of(std::size_t task) const { return at_work_ + task; }
  /// In the parent, now and then.
  void look();

 private:
  struct Seen {
    std::uint64_t asked = 0;
    double since_s = 0, due_s = 0;
  };
  const Setup setup_;
  sim::AtWork* at_work_ = nullptr;
  std::vector<Seen> seen_;
};

}  // namespace rehearse::scenarios
