// The keeper of a process (kept_process.hpp): what runs in the child that is between us and it.
#pragma once

#include <sys/types.h>

#include <array>

namespace rehearse::scenarios {

/// What the keeper tells of the process's end: {one of these, a number}.
enum HowItEnded : int {
  kExited = 0,    ///< status
  kKilled = 1,    ///< signal
  kNotRun = 2,    ///< errno
  kNoFolder = 3,  ///< errno
};

struct KeeperTask {
  pid_t owner = 0;  ///< whose child the keeper is
  char** argv = nullptr;
  const char* folder = nullptr;   ///< null: the owner's
  std::array<int, 3> standard{};  ///< files that become the process's 0, 1, 2
  int tell = -1;                  ///< gets two ints when the process has ended
};

/// Called in a forked child with all signals blocked. Starts the process in a group of its own and waits until it ends, SIGTERM
/// comes or the owner dies; then kills everything that is left of what the process has started.
[[noreturn]] void keep(const KeeperTask& task) noexcept;

}  // namespace rehearse::scenarios
