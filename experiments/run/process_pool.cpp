#include "experiments/run/process_pool.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <type_traits>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"

namespace rehearse::scenarios {

namespace {

/// Written whole to the pipe, as it is smaller than PIPE_BUF.
struct Frame {
  std::int64_t task = -1;  // -1: only a wake-up
  sim::ReplayProgress progress;
};
static_assert(sizeof(Frame) <= PIPE_BUF && std::is_trivially_copyable_v<Frame>);

// What a signal handler can reach; set while run_processes runs.
volatile std::sig_atomic_t interrupted = 0;
int wake_fd = -1;

void on_signal(int signal) {
  if (signal != SIGCHLD) interrupted = 1;
  const Frame wake;
  [[maybe_unused]] const ssize_t written = write(wake_fd, &wake, sizeof wake);
}

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

class SignalHandlers {
 public:
  SignalHandlers() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &old_[i]);
  }
  ~SignalHandlers() { restore(); }
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
  void restore() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &old_[i], nullptr);
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGCHLD};
  std::array<struct sigaction, kSignals.size()> old_{};
};

/// At most ten frames a second from a child, and the last one.
class Teller {
 public:
  Teller(int fd, int task) : fd_(fd), task_(task) {}
  void operator()(const sim::ReplayProgress& progress) {
    frame_ = {task_, progress};
    // Coarse: to some milliseconds, for a tenth of what the exact clock takes, at the end of every job.
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const std::int64_t now_ms = std::int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000;
    if (now_ms < next_ms_) return;
    next_ms_ = now_ms + 100;
    send();
  }
  void send() {
    if (frame_.task < 0) return;
    [[maybe_unused]] const ssize_t written = write(fd_, &frame_, sizeof frame_);
    frame_.task = -1;
  }

 private:
  Frame frame_;  // not yet sent when it has a task
  int fd_;
  int task_;
  std::int64_t next_ms_ = 0;
};

ChildEnd end_of(int task, int status, const rusage& usage) {
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return {.task = task,
          .exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .max_rss_bytes = static_cast<double>(usage.ru_maxrss) * 1024};
}

void read_frames(const sim::Pipe& pipe, const ProcessPoolSetup& setup) {
  Frame frame;
  while (read(pipe.reading(), &frame, sizeof frame) == sizeof frame)
    if (frame.task >= 0) setup.on_progress(static_cast<int>(frame.task), frame.progress);
}

class Children {
 public:
  explicit Children(const ProcessPoolSetup& setup) : setup_(setup) {}

  void start(int task, const sim::Pipe& pipe, const SignalHandlers& handlers) {
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    sim::check(child >= 0, "no process could be started");
    if (child > 0) {
      running_[child] = task;
      return;
    }
    handlers.restore();
    std::signal(SIGINT, SIG_DFL);
    const sigset_t held = interrupts();
    sigprocmask(SIG_UNBLOCK, &held, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(130);
    sim::take_memory_share(std::min(setup_.tasks, std::max(1, setup_.processes)));
    work(task, pipe);
  }

  /// Tells of whoever has ended, after all that it told; only our own children are waited for.
  void reap(const sim::Pipe& pipe) {
    for (auto it = running_.begin(); it != running_.end();) {
      int status = 0;
      rusage usage{};
      const pid_t ended = wait4(it->first, &status, WNOHANG, &usage);
      if (ended != it->first) {
        ++it;
        continue;
      }
      const ChildEnd end = end_of(it->second, status, usage);
      it = running_.erase(it);
      read_frames(pipe, setup_);
      setup_.on_end(end);
    }
  }

  void kill_all() {
    for (const auto& [pid, task] : running_) kill(pid, SIGKILL);
    for (const auto& [pid, task] : running_)
      while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {  // by the SIGCHLD of another
      }
    running_.clear();
  }
  int count() const { return static_cast<int>(running_.size()); }

 private:
  /// Whatever happens in a child ends there: the parent's frames below are not its own to unwind.
  [[noreturn]] void work(int task, const sim::Pipe& pipe) const noexcept {
    Teller teller(pipe.writing(), task);
    const int status = setup_.work(task, std::ref(teller));
    teller.send();
    _exit(status);
  }

  const ProcessPoolSetup& setup_;
  std::map<pid_t, int> running_;
};

}  // namespace

HeldInterrupts::HeldInterrupts() {
  const sigset_t held = interrupts();
  sigprocmask(SIG_BLOCK, &held, &before_);
}

HeldInterrupts::~HeldInterrupts() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

bool HeldInterrupts::take() const {
  const sigset_t held = interrupts();
  const timespec now{};
  return sigtimedwait(&held, nullptr, &now) > 0;
}

bool run_processes(const ProcessPoolSetup& setup) {
  const HeldInterrupts held;
  sigset_t while_waiting;
  sigemptyset(&while_waiting);
  const sim::Pipe pipe;
  sim::never_wait(pipe.reading());
  sim::never_wait(pipe.writing());  // progress may be lost, never waited for
  wake_fd = pipe.writing();
  interrupted = 0;
  const SignalHandlers handlers;
  Children children(setup);
  try {
    for (int next = 0; interrupted == 0 && (next < setup.tasks || children.count() > 0);) {
      while (next < setup.tasks && children.count() < std::max(1, setup.processes)) children.start(next++, pipe, handlers);
      std::array<pollfd, 2> waiting{
          {{.fd = pipe.reading(), .events = POLLIN, .revents = 0}, {.fd = setup.also_fd, .events = POLLIN, .revents = 0}}};
      const timespec a_second{.tv_sec = 1, .tv_nsec = 0};  // a full pipe takes no wake-up: wait no longer than this
      ppoll(waiting.data(), waiting.size(), &a_second, &while_waiting);
      read_frames(pipe, setup);
      setup.on_also();
      if (interrupted == 0) children.reap(pipe);
    }
  } catch (...) {
    children.kill_all();
    throw;
  }
  if (interrupted != 0) children.kill_all();
  return interrupted == 0;
}

namespace {

/// Of a message that is written whole, as it is no longer than PIPE_BUF; its text follows.
struct Head {
  int task;
  std::uint32_t bytes;
};
constexpr std::size_t kLongest = PIPE_BUF - sizeof(Head);
constexpr std::string_view kCut = "...";

}  // namespace

ReasonPipe::ReasonPipe() { sim::never_wait(pipe_.reading()); }

void ReasonPipe::tell(int task, std::string_view reason) const {
  std::string text(reason.substr(0, kLongest));
  if (text.size() < reason.size()) text.replace(text.size() - kCut.size(), kCut.size(), kCut);
  const Head head{.task = task, .bytes = static_cast<std::uint32_t>(text.size())};
  std::string message(sizeof head, '\0');
  std::memcpy(message.data(), &head, sizeof head);
  message += text;
  while (write(pipe_.writing(), message.data(), message.size()) < 0 && errno == EINTR) {
  }
}

void ReasonPipe::read() {
  char buffer[1 << 16];
  for (ssize_t got = 0; (got = ::read(reading(), buffer, sizeof buffer)) > 0;)
    text_.append(buffer, static_cast<std::size_t>(got));
  for (Head head; text_.size() >= sizeof head;) {
    std::memcpy(&head, text_.data(), sizeof head);
    if (text_.size() < sizeof head + head.bytes) return;
    reasons_[head.task] = text_.substr(sizeof head, head.bytes);
    text_.erase(0, sizeof head + head.bytes);
  }
}

std::string ReasonPipe::of(int task) const {
  const auto at = reasons_.find(task);
  return at == reasons_.end() ? std::string() : at->second;
}

}  // namespace rehearse::scenarios
