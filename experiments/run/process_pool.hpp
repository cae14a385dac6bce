// Runs tasks in forked children, a few at a time, and hears of their progress through one pipe.
#pragma once

#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sim/base/child_process.hpp"
#include "sim/replay/records.hpp"

namespace rehearse::scenarios {

using TellProgress = std::function<void(const sim::ReplayProgress&)>;

/// Holds SIGINT and SIGTERM back while it lives, so that none comes between two writes; only run_processes lets them in while it
/// waits.
class HeldInterrupts {
 public:
  HeldInterrupts();
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
  /// Whether one has come; it is then dealt with.
  bool take() const;

 private:
  sigset_t before_;
};

/// Exit statuses of children, the program's own (docs/reference/scenario.md) where both have one.
enum ChildStatus : int { kOk = 0, kBug = 1, kOutOfMemory = 2, kInvalid = 3, kPolicyFailed = 5 };

/// How a child ended.
struct ChildEnd {
  int task = 0;
  int exit_status = 0;  ///< -1 when a signal ended it
  int signal = 0;
  double cpu_s = 0;
  double max_rss_bytes = 0;
};

struct ProcessPoolSetup {
  int tasks = 0;
  int processes = 1;  ///< at most so many at once
  /// In the child: does the task, tells how far it is, and returns the exit status.
  std::function<int(int task, const TellProgress& tell)> work;
  std::function<void(const ChildEnd&)> on_end;
  std::function<void(int task, const sim::ReplayProgress& progress)> on_progress;  ///< never after the task's on_end
  int also_fd = -1;                       ///< another pipe of the caller's that children write to
  std::function<void()> on_also = [] {};  ///< something may be read from it
};

/// False when SIGINT or SIGTERM came: the children that were started are then killed and reaped. What on_end throws ends the
/// others too. A child may take its share of the memory that is left (sim/base/memory.hpp). The caller's handlers are
/// restored. A child that throws out of its work is killed by SIGABRT.
bool run_processes(const ProcessPoolSetup& setup);

// Why tasks in forked children failed, told to their parent through a pipe: it works when the disk is full.

class ReasonPipe {
 public:
  ReasonPipe();

  /// For poll().
  int reading() const { return pipe_.reading(); }
  /// In a child. What is longer than a pipe takes at once is cut.
  void tell(int task, std::string_view reason) const;
  /// In the parent: takes what is there.
  void read();
  /// Of what was read; empty when nothing was told.
  std::string of(int task) const;

 private:
  sim::Pipe pipe_;
  std::string text_;  ///< not whole yet
  std::map<int, std::string> reasons_;
};

// How a failed row says that it failed by a bug of the program, not by its policy.

inline constexpr std::string_view kOurBug = "a bug of rehearse, please report it: ";

inline bool names_our_bug(std::string_view reason) { return reason.find(kOurBug) != std::string_view::npos; }

}  // namespace rehearse::scenarios
