// A process of the user's own, with its keeper: a child of ours that starts it, waits for it, and ends with it whatever else it
// has started, also when we are killed ourselves. Nothing of it outlives us, and nobody is left a zombie.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

namespace rehearse::scenarios {

struct ProcessCommand {
  std::vector<std::string> words;  ///< the program and its arguments; a program without a slash is looked up in PATH
  std::string folder;              ///< that it works in; empty: ours
  /// Without a network, all files read-only, nothing seen of other processes (experiments/process/sandbox.hpp). One that cannot
  /// be shut off so has ended.
  bool sandbox = false;
  std::vector<std::string> hidden = {};  ///< folders that it sees empty then
};

/// Pipes to its standard input, output and error. Ours do not block.
class KeptProcess {
 public:
  /// A program that cannot be run is one that has ended. A failed check when there are no pipes or processes to be had.
  explicit KeptProcess(const ProcessCommand& command);
  /// Kills it, and what it started, and waits until they have gone.
  ~KeptProcess();
  KeptProcess(const KeptProcess&) = delete;
  KeptProcess& operator=(const KeptProcess&) = delete;

  int input() const { return input_; }  ///< -1 once closed
  int output() const { return output_; }
  int errors() const { return errors_; }
  /// Readable once it has ended: call read_end().
  int end() const { return end_; }
  void close_input();

  /// True from when it is known how it ended.
  bool read_end();
  /// "has ended with status 3", "was killed by signal 9 (Killed)", "cannot be run: No such file or directory". Once read_end().
  std::string how_it_ended() const;

 private:
  pid_t keeper_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1, end_ = -1;
  bool has_ended_ = false;
  std::array<int, 2> how_{};
};

// The keeper of a process (kept_process.hpp): what runs in the child that is between us and it.

/// What the keeper tells of the process's end: {one of these, a number}.
enum HowItEnded : int {
  kExited = 0,    ///< status
  kKilled = 1,    ///< signal
  kNotRun = 2,    ///< errno
  kNoFolder = 3,  ///< errno
  kNoSandbox = 4  ///< errno
};

struct KeeperTask {
  pid_t owner = 0;  ///< whose child the keeper is
  char** argv = nullptr;
  const char* folder = nullptr;             ///< null: the owner's
  const ProcessCommand* sandbox = nullptr;  ///< null: none; what it hides
  std::array<int, 3> standard{};            ///< files that become the process's 0, 1, 2
  int tell = -1;                            ///< gets two ints when the process has ended
};

/// Called in a forked child with all signals blocked. Starts the process in a group of its own and waits until it ends, SIGTERM
/// comes or the owner dies; then kills everything that is left of what the process has started.
[[noreturn]] void keep(const KeeperTask& task) noexcept;

}  // namespace rehearse::scenarios
