#include "experiments/process/kept_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "experiments/process/sandbox.hpp"
#include "sim/base/child_process.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

namespace {

/// No signal comes between a fork and what the child does about signals.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

KeptProcess::KeptProcess(const ProcessCommand& command) {
  sim::Pipe input, output, errors, end;
  std::vector<std::string> words = command.words;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const KeeperTask task{.owner = getpid(),
                        .argv = argv.data(),
                        .folder = command.folder.empty() ? nullptr : command.folder.c_str(),
                        .sandbox = command.sandbox ? &command : nullptr,
                        .standard = {input.reading(), output.writing(), errors.writing()},
                        .tell = end.writing()};
  std::fflush(nullptr);
  {
    const HeldSignals held;
    keeper_ = fork();
    if (keeper_ == 0) keep(task);
  }
  sim::check(keeper_ > 0, "no process could be started");
  input_ = input.take_writing();
  output_ = output.take_reading();
  errors_ = errors.take_reading();
  end_ = end.take_reading();
  for (const int ours : {input_, output_, errors_, end_}) sim::never_wait(ours);
}

KeptProcess::~KeptProcess() {
  kill(keeper_, SIGTERM);
  while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close_input();
  for (const int file : {output_, errors_, end_}) close(file);
}

void KeptProcess::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

bool KeptProcess::read_end() {
  if (has_ended_) return true;
  const ssize_t got = read(end_, how_.data(), sizeof how_);
  if (got < 0) return false;
  if (got != sizeof how_) how_ = {kKilled, SIGKILL};  // the keeper itself is no more
  return has_ended_ = true;
}

std::string KeptProcess::how_it_ended() const {
  const auto [kind, number] = how_;
  if (kind == kNotRun) return fmt::format("cannot be run: {}", std::strerror(number));
  if (kind == kNoFolder) return fmt::format("cannot be run in its folder: {}", std::strerror(number));
  if (kind == kNoSandbox) return fmt::format("cannot be shut off from network and files: {}", std::strerror(number));
  if (kind == kKilled) return fmt::format("was killed by signal {} ({})", number, strsignal(number));
  return fmt::format("has ended with status {}", number);
}

namespace {

void tell(int file, HowItEnded kind, int number) {
  const std::array<int, 2> how{kind, number};
  [[maybe_unused]] const ssize_t written = write(file, how.data(), sizeof how);
}

void default_signals() {
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);  // no effect where it may not
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// In the child: becomes the process. Does not outlive its keeper.
[[noreturn]] void become(const KeeperTask& task, pid_t keeper) noexcept {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // In a sandbox it has no parent that it sees; when the keeper dies first, it sees the end of its input.
  if (task.sandbox == nullptr && getppid() != keeper) _exit(1);
  std::array<int, 4> files{task.standard[0], task.standard[1], task.standard[2], task.tell};
  for (int& file : files) file = fcntl(file, F_DUPFD, 3);  // out of the way of 0, 1 and 2
  for (int to = 0; to < 3; ++to) dup2(files[static_cast<std::size_t>(to)], to);
  const int told = files[3];
  close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
  default_signals();
  if (task.folder != nullptr && chdir(task.folder) != 0) {
    tell(told, kNoFolder, errno);
    _exit(127);
  }
  if (task.sandbox != nullptr && !shut_off(task.sandbox->hidden)) {
    tell(told, kNoSandbox, errno);
    _exit(127);
  }
  execvp(task.argv[0], task.argv);
  tell(told, kNotRun, errno);
  _exit(127);
}

/// Whether the process has ended, which is then not yet reaped: its group keeps its number. Reaps all others that have.
bool has_ended(pid_t process) {
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    if (info.si_pid == process) return true;
    waitpid(info.si_pid, nullptr, 0);
  }
}

/// Of a line of /proc/PID/stat: what follows the last parenthesis, behind the state (proc(5)); a name may hold anything.
pid_t parent_in(const char* stat) {
  const char* end_of_name = std::strrchr(stat, ')');
  return end_of_name == nullptr ? -1 : static_cast<pid_t>(std::strtol(end_of_name + 4, nullptr, 10));
}

void kill_children() {
  const pid_t self = getpid();
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* entry = readdir(processes)) {
    const pid_t process = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (process <= 0) continue;
    char text[512];
    std::snprintf(text, sizeof text, "/proc/%d/stat", process);
    std::FILE* file = std::fopen(text, "r");
    if (file == nullptr) continue;
    text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
    std::fclose(file);
    if (parent_in(text) == self) kill(process, SIGKILL);
  }
  closedir(processes);
}

/// Whoever loses its parent becomes a child of this process, its subreaper: in the end everyone has. Nobody waits for ever for
/// one that cannot be killed, such as another user's.
void end_all(pid_t process, int tell_file) {
  constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 100'000'000};
  constexpr int kMostWaits = 100;
  sigset_t end_of_child;
  sigemptyset(&end_of_child);
  sigaddset(&end_of_child, SIGCHLD);
  kill(-process, SIGKILL);
  for (int waits = 0; waits < kMostWaits;) {
    kill_children();
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended < 0) return;
    if (ended == 0 && sigtimedwait(&end_of_child, nullptr, &kPatience) < 0) ++waits;
    if (ended != process) continue;
    if (WIFSIGNALED(status))
      tell(tell_file, kKilled, WTERMSIG(status));
    else
      tell(tell_file, kExited, WEXITSTATUS(status));
  }
}

}  // namespace

void keep(const KeeperTask& task) noexcept {
  setpgid(0, 0);  // Ctrl-C in a terminal is not for it
  if (task.sandbox != nullptr && !enter_own_namespaces()) {
    tell(task.tell, kNoSandbox, errno);
    _exit(1);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t self = getpid();
  const pid_t process = fork();
  if (process == 0) become(task, self);
  if (process < 0) {
    tell(task.tell, kNotRun, errno);
    _exit(1);
  }
  setpgid(process, process);
  const int told = dup2(task.tell, 0);
  close_range(1, UINT_MAX, 0);  // nobody waits for an end of file because of us
  sigset_t waited_for;
  sigemptyset(&waited_for);
  sigaddset(&waited_for, SIGCHLD);
  sigaddset(&waited_for, SIGTERM);
  const bool orphaned = getppid() != task.owner;
  while (!orphaned && !has_ended(process))
    if (sigwaitinfo(&waited_for, nullptr) == SIGTERM) break;
  end_all(process, told);
  _exit(0);
}

}  // namespace rehearse::scenarios
